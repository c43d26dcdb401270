"""The shooting equations, from `f` and `R` alone.

One sign convention is used everywhere:
$H(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩ - R(θ)$, $\\dot q = ∂H/∂p$, $\\dot p = -∂H/∂q$, and θ maximises H.
Particles are summed, never averaged.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax._fields import AbstractField
from shootax._penalties import Penalty, Quadratic, penalty_at


def pairing(field: AbstractField, q: PyTree, p: PyTree, theta: PyTree) -> Float[Array, ""]:
    """$Σ_j ⟨p_j, f(q_j, θ)⟩$."""
    velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
    return jax.tree.reduce(jnp.add, jax.tree.map(lambda a, b: jnp.sum(a * b), p, velocity))


def hamiltonian(
    field: AbstractField, penalty: Penalty, q: PyTree, p: PyTree, theta: PyTree
) -> Float[Array, ""]:
    """$H(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩ - R(θ)$, whose stationary points are the optimality conditions
    of the paper (Eq. EqOptimalityEquations)."""
    return pairing(field, q, p, theta) - penalty_at(penalty, field, q, theta)


def theta_star(field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree) -> PyTree:
    """$θ^* = M^{-1} Σ_j L_{q_j}^⊤ p_j$, the maximiser of H for a field linear in θ.

    (Eq. EqShootingLinearParameterQuadraticPenalization.)
    """
    return penalty.solve(field.adjoint(q, p))


def reduced_hamiltonian(
    field: AbstractField, penalty: Quadratic, q: PyTree, p: PyTree
) -> Float[Array, ""]:
    """$\\mathcal H(q, p) = \\max_θ H$ of a field linear in θ, which the flow conserves."""
    return hamiltonian(field, penalty, q, p, theta_star(field, penalty, q, p))


def hamilton_equations(
    field: AbstractField, penalty: Penalty, q: PyTree, p: PyTree, theta: PyTree
) -> tuple[PyTree, PyTree]:
    """$(\\dot q, \\dot p)$ for the maximiser θ of H (Eq. EqShootingForward and
    EqTrueHamiltonEquations): the forward equations of shooting,

    $$\\dot q_j = f(q_j, θ), \\qquad \\dot p_j = -∂_q f(q_j, θ)^⊤ p_j + ∂_{q_j} R.$$

    The derivatives are partial ones, at fixed θ: because θ* is stationary they are also those of
    the reduced Hamiltonian $\\mathcal H(q, p) = \\max_θ H$. A training gradient still flows through
    θ*.
    """
    velocity = jax.vmap(field, in_axes=(0, None))(q, theta)
    force = jax.grad(hamiltonian, argnums=2)(field, penalty, q, p, theta)
    return velocity, jax.tree.map(jnp.negative, force)
