"""Penalties on the weights."""

import abc

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from shootax._fields.base import AbstractField


class AbstractPenalty(eqx.Module):
    """A penalty $R(θ)$ on the weights at one time. Your own penalty needs only `__call__`.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        class Quartic(sx.AbstractPenalty):
            def __call__(self, theta):
                return sum(jnp.sum(w**2) / 2 + jnp.sum(w**4) / 4 for w in theta.values())
        ```
    """

    @abc.abstractmethod
    def __call__(self, theta: PyTree[Array]) -> Float[Array, ""]:
        """$R(θ)$."""

    def check(self, theta: PyTree[jax.ShapeDtypeStruct]) -> None:
        """Raise unless the penalty fits weights of these shapes."""


class AbstractParticlePenalty(eqx.Module):
    """A penalty $R(θ, q)$ that depends on the positions of the particles as well.

    Its derivative in $q$ acts on the momenta: $\\dot p = -∂_q Σ_j ⟨p_j, f(q_j, θ)⟩ + ∂_q R$.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        class Kinetic(sx.extend.AbstractParticlePenalty):
            def __call__(self, theta, field, q):
                velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
                return (jnp.sum(velocity**2) + sum(jnp.sum(w**2) for w in theta.values())) / 2
        ```
    """

    @abc.abstractmethod
    def __call__(
        self, theta: PyTree[Array], field: AbstractField, q: PyTree[Array]
    ) -> Float[Array, ""]:
        """$R(θ, q)$."""

    def check(self, theta: PyTree[jax.ShapeDtypeStruct]) -> None:
        """Raise unless the penalty fits weights of these shapes."""


Penalty = AbstractPenalty | AbstractParticlePenalty


def penalty_at(
    penalty: Penalty, field: AbstractField, q: PyTree[Array], theta: PyTree[Array]
) -> Float[Array, ""]:
    """$R$ at one time, for either kind of penalty (the integrand of
    Eq. EqVariationalFormulation)."""
    if isinstance(penalty, AbstractParticlePenalty):
        return penalty(theta, field, q)
    return penalty(theta)
