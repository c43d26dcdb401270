"""Fields of a reproducing-kernel Hilbert space."""

from typing import NoReturn

import equinox as eqx
import jax
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._fields.base import AbstractField, shape
from shootax._kernels import AbstractKernel, GaussianKernel


class RKHS(AbstractField):
    """$f(x) = Σ_j k(x, q_j)\\, p_j$: the particles are the field, and there are no weights.

    The penalty is the norm of the space, $½\\|f\\|^2 = ½ Σ_{ij} k(q_i, q_j) ⟨p_i, p_j⟩$; the particles
    then move as the landmarks of diffeomorphic image registration do. Where other fields have θ,
    this one has the positions and momenta of all particles, `{"q": q, "p": p}`.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.RKHS(dim=2, kernel=sx.kernels.GaussianKernel(scale=0.5))
        control = sx.Particles.draw(field, 10, key=jax.random.key(0))
        ```
    """

    dim: int = eqx.field(static=True)
    kernel: AbstractKernel

    def __init__(self, dim: int, kernel: AbstractKernel = GaussianKernel()):
        """**Arguments:** `dim`, the size of the state, and the `kernel`."""
        self.dim = checks.positive_integer(dim, "dim")
        self.kernel = kernel

    @property
    def state(self) -> jax.ShapeDtypeStruct:
        return shape(self.dim)

    @property
    def theta(self) -> NoReturn:
        raise ValueError(
            "An RKHS field has no weights θ: its particles are the field. Use a control with "
            "particles (Particles or FrozenParticles) and leave its penalty out, which is the norm "
            "of the space; for free weights use random features, i.e. a field linear in θ."
        )

    def __call__(self, z: Float[Array, " dim"], theta: dict[str, Array]) -> Float[Array, " dim"]:
        return jax.vmap(self.kernel, in_axes=(None, 0))(z, theta["q"]) @ theta["p"]
