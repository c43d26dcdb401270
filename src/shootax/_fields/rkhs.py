"""Fields of a reproducing-kernel Hilbert space."""

from typing import TYPE_CHECKING, NoReturn

import equinox as eqx
import jax
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._fields.base import AbstractField, shape
from shootax._kernels import AbstractKernel, GaussianKernel

if TYPE_CHECKING:
    from shootax._maximisers import AbstractMaximiser
    from shootax._penalties import AbstractPenalty, Penalty


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
        """**Arguments:**

        - `dim`: the size of the state.
        - `kernel`: a kernel from `shootax.kernels`, or your own.
        """
        self.dim = checks.positive_integer(dim, "dim")
        self.kernel = checks.instance(
            kernel, AbstractKernel, "kernel", "RKHS(2, shootax.kernels.GaussianKernel(0.5))"
        )

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

    @property
    def has_theta(self) -> bool:
        return False

    def default_penalty(self) -> "AbstractPenalty":
        from shootax._penalties import RKHSNorm

        return RKHSNorm(self.kernel)

    def default_maximiser(self, penalty: "Penalty") -> "AbstractMaximiser":
        from shootax._maximisers import Representer

        return Representer()

    def check_penalty(self, penalty: "Penalty") -> None:
        from shootax._penalties import RKHSNorm

        if not isinstance(penalty, RKHSNorm):
            raise ValueError(
                f"{type(penalty).__name__} is no penalty for RKHS, which has no weights θ to penalise: "
                "its penalty is the norm of the space. Leave the penalty out."
            )

    def check_velocity(self) -> None:
        """There is nothing to check: the velocity is that of the kernel."""
