"""The transport penalty: a cost of the velocity, not of the weights."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax import _checks as checks
from shootax._fields.base import AbstractField
from shootax._penalties.base import AbstractParticlePenalty


class Transport(AbstractParticlePenalty):
    """$R(θ, q) = \\tfrac1{2K} Σ_j |f(q_j, θ)|^2 + \\tfrac λ2 |θ|^2$ (Eq. EqOTLike).

    It is the kinetic energy of the particles, independent of how the field is parametrised. With enough
    weights the flow approaches the optimal transport of the particles. The small ridge λ picks one
    of the many θ that give the same velocities.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.Affine(dim=2, activation="tanh")
        control = sx.Particles.draw(field, 10, penalty=sx.Transport(), key=jax.random.key(0))
        ```
    """

    ridge: float = eqx.field(static=True)

    def __init__(self, ridge: float = 1e-3):
        """**Arguments:** `ridge`, the strength λ of $|θ|^2$, which must be positive."""
        self.ridge = checks.positive_number(ridge, "ridge")

    def __call__(
        self, theta: PyTree[Array], field: AbstractField, q: PyTree[Array]
    ) -> Float[Array, ""]:
        velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
        particles = jax.tree.leaves(q)[0].shape[0]
        return 0.5 * _square(velocity) / particles + 0.5 * self.ridge * _square(theta)


def _square(tree: PyTree[Array]) -> Float[Array, ""]:
    return jax.tree.reduce(jnp.add, jax.tree.map(lambda leaf: jnp.sum(leaf**2), tree))
