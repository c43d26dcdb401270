"""The norm of a reproducing-kernel Hilbert space."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax import _checks as checks
from shootax._kernels import AbstractKernel
from shootax._penalties.base import AbstractPenalty


class RKHSNorm(AbstractPenalty):
    """$R(f) = ½ \\|f\\|^2 = ½ Σ_{ij} k(q_i, q_j) ⟨p_i, p_j⟩$ for $f = Σ_j k(·, q_j) p_j$.

    It is the default penalty of [`shootax.RKHS`][].

    !!! example

        ```python
        import shootax as sx

        field = sx.RKHS(dim=2)
        penalty = sx.RKHSNorm(field.kernel)
        ```
    """

    kernel: AbstractKernel

    def __init__(self, kernel: AbstractKernel):
        """**Arguments:** `kernel`, the kernel of the field."""
        self.kernel = checks.instance(kernel, AbstractKernel, "kernel", "RKHSNorm(field.kernel)")

    def __call__(self, theta: dict[str, Array]) -> Float[Array, ""]:
        q, p = theta["q"], theta["p"]
        gram = jax.vmap(jax.vmap(self.kernel, in_axes=(None, 0)), in_axes=(0, None))(q, q)
        return 0.5 * jnp.sum(gram * (p @ p.T))

    def check(self, theta: PyTree[jax.ShapeDtypeStruct]) -> None:
        """Always raise: a field with weights θ is not a function of the space."""
        raise ValueError(
            "RKHSNorm is no penalty for a field with weights θ: it is the norm of an RKHS field, "
            "which has none. Leave the penalty out, or use Quadratic()."
        )
