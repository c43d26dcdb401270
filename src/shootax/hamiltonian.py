"""The equations of shooting, from `f` and `R` alone.

One sign convention is used everywhere:
$H(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩ - R(θ)$, $\\dot q = ∂H/∂p$, $\\dot p = -∂H/∂q$, and θ maximises H.
Particles are summed, never averaged.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax.fields import AbstractField
from shootax.fields.base import zeros
from shootax.penalties import Quadratic


def pairing(field: AbstractField, q: PyTree, p: PyTree, theta: PyTree) -> Float[Array, ""]:
    """$Σ_j ⟨p_j, f(q_j, θ)⟩$."""
    velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
    return jax.tree.reduce(jnp.add, jax.tree.map(lambda a, b: jnp.sum(a * b), p, velocity))


def hamiltonian(
    field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree, theta: PyTree
) -> Float[Array, ""]:
    """$H(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩ - R(θ)$."""
    return pairing(field, q, p, theta) - penalty(theta)


def theta_star(field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree) -> PyTree:
    """$θ^* = M^{-1} Σ_j L_{q_j}^⊤ p_j$, the maximiser of H for a field linear in θ.

    (Eq. EqShootingLinearParameterQuadraticPenalization.) The sum is one gradient at θ = 0.
    """
    dtype = jnp.result_type(*jax.tree.leaves(q))
    origin = jax.tree.map(lambda leaf: leaf.astype(dtype), zeros(field.theta))
    return penalty.solve(jax.grad(pairing, argnums=3)(field, q, p, origin))


def reduced_hamiltonian(
    field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree
) -> Float[Array, ""]:
    """$\\mathcal H(q, p) = \\max_θ H$, which the flow conserves."""
    return hamiltonian(field, penalty, q, p, theta_star(field, penalty, q, p))


def hamilton_equations(
    field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree
) -> tuple[PyTree, PyTree, PyTree]:
    """$(θ^*, \\dot q, \\dot p)$ (Eq. EqTrueHamiltonEquations).

    The derivatives are partial ones, at fixed θ: because θ* is stationary they are also those of
    the reduced Hamiltonian. A training gradient still flows through θ*.
    """
    theta = theta_star(field, penalty, q, p)
    velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
    force = jax.grad(pairing, argnums=1)(field, q, p, theta)
    return theta, velocity, jax.tree.map(jnp.negative, force)


def is_linear(field: AbstractField, *, tolerance: float = 1e-3) -> bool:
    """Whether $f(z, θ)$ is linear in θ, found out by trying it at random points."""
    with jax.ensure_compile_time_eval():
        keys = iter(jax.random.split(jax.random.key(0), 100))

        def draw(template: PyTree) -> PyTree:
            return jax.tree.map(lambda leaf: jax.random.normal(next(keys), leaf.shape), template)

        z, first, second = draw(field.state), draw(field.theta), draw(field.theta)
        mixed = field(z, jax.tree.map(lambda a, b: 2 * a - 3 * b, first, second))
        parts = jax.tree.map(lambda a, b: 2 * a - 3 * b, field(z, first), field(z, second))
        gaps = jax.tree.map(lambda a, b: jnp.max(jnp.abs(a - b), initial=0), mixed, parts)
        sizes = jax.tree.map(lambda a: jnp.max(jnp.abs(a), initial=0), parts)
        gap, scale = max(map(float, jax.tree.leaves(gaps))), max(map(float, jax.tree.leaves(sizes)))
        return gap <= tolerance * (1 + scale)
