"""The equations of shooting, from `f` and `R` alone.

One sign convention is used everywhere:
$H(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩ - R(θ)$, $\\dot q = ∂H/∂p$, $\\dot p = -∂H/∂q$, and θ maximises H.
Particles are summed, never averaged.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax._fields import AbstractField
from shootax._fields.base import zeros
from shootax._penalties import Penalty, Quadratic, rate


def pairing(field: AbstractField, q: PyTree, p: PyTree, theta: PyTree) -> Float[Array, ""]:
    """$Σ_j ⟨p_j, f(q_j, θ)⟩$."""
    velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
    return jax.tree.reduce(jnp.add, jax.tree.map(lambda a, b: jnp.sum(a * b), p, velocity))


def hamiltonian(
    field: AbstractField, penalty: Penalty, q: PyTree, p: PyTree, theta: PyTree
) -> Float[Array, ""]:
    """$H(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩ - R(θ)$."""
    return pairing(field, q, p, theta) - rate(penalty, field, q, theta)


def theta_star(field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree) -> PyTree:
    """$θ^* = M^{-1} Σ_j L_{q_j}^⊤ p_j$, the maximiser of H for a field linear in θ.

    (Eq. EqShootingLinearParameterQuadraticPenalization.) The sum is one gradient at θ = 0. A drift,
    i.e. a part of the field that is free of θ, does not change it.
    """
    dtype = jnp.result_type(*jax.tree.leaves(q))
    origin = jax.tree.map(lambda leaf: leaf.astype(dtype), zeros(field.theta))
    return penalty.solve(jax.grad(pairing, argnums=3)(field, q, p, origin))


def reduced_hamiltonian(
    field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree
) -> Float[Array, ""]:
    """$\\mathcal H(q, p) = \\max_θ H$ of a field linear in θ, which the flow conserves."""
    return hamiltonian(field, penalty, q, p, theta_star(field, penalty, q, p))


def hamilton_equations(
    field: AbstractField, penalty: Penalty, q: PyTree, p: PyTree, theta: PyTree
) -> tuple[PyTree, PyTree]:
    """$(\\dot q, \\dot p)$ for the maximiser θ of H (Eq. EqTrueHamiltonEquations).

    The derivatives are partial ones, at fixed θ: because θ* is stationary they are also those of
    the reduced Hamiltonian $\\mathcal H(q, p) = \\max_θ H$. A training gradient still flows through
    θ*.
    """
    velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
    force = jax.grad(hamiltonian, argnums=2)(field, penalty, q, p, theta)
    return velocity, jax.tree.map(jnp.negative, force)
