"""The norm of a reproducing-kernel Hilbert space."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax._kernels import AbstractKernel
from shootax._penalties.base import AbstractPenalty


class RKHSNorm(AbstractPenalty):
    """$R(f) = ½ \\|f\\|^2 = ½ Σ_{ij} k(q_i, q_j) ⟨p_i, p_j⟩$ for $f = Σ_j k(·, q_j) p_j$."""

    kernel: AbstractKernel

    def __call__(self, theta: dict[str, Array]) -> Float[Array, ""]:
        q, p = theta["q"], theta["p"]
        rows = jax.vmap(jax.vmap(self.kernel, in_axes=(None, 0)), in_axes=(0, None))
        return 0.5 * jnp.sum(rows(q, q) * (p @ p.T))
