"""Any field linear in θ with a quadratic penalty: shooting, and its reverse pass, from `f` alone.

With $P(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩$ the equations are $θ = M^{-1} ∂_θ P$, $\\dot z = f(z, θ)$ for
all states and $\\dot p = -∂_q P$. For cotangents $\\bar v$ of the velocities and $\\bar w$ of the forces
let

$$L = Σ_i ⟨\\bar v_i, f(z_i, θ)⟩ - ∂_q P(q, p, θ)[\\bar w], \\qquad θ' = M^{-1} ∂_θ L.$$

Then the cotangents of all that the equations depend on are the partial derivatives, at fixed θ and
θ', of $L + ∂_θ P(q, p, θ)[θ']$. Nothing but θ is kept from the way forward, and there are as many
products as in a reverse pass written by hand; differentiating the equations step by step has more.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax._fields import AbstractField
from shootax._maximisers import AbstractMaximiser
from shootax._penalties import Quadratic
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint


class Apart(NamedTuple):
    """Particles and data of different shapes, such as images of two sizes."""

    q: PyTree[Array]
    z: PyTree[Array]


class LinearSystem(AbstractSystem):
    """Hamilton's equations (Eq. EqShootingForward) of a field linear in θ, by differentiating it."""

    field: AbstractField
    penalty: Quadratic
    maximiser: AbstractMaximiser
    particles: ParticleState

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: PyTree[Array]) -> State:
        q, p, z = (self.field.pack_states(states) for states in (particles.q, particles.p, z))
        shapes = [[leaf.shape[1:] for leaf in jax.tree.leaves(states)] for states in (q, z)]
        if shapes[0] != shapes[1]:
            return State(Apart(q, z), p)
        return State(jax.tree.map(lambda a, b: jnp.concatenate([a, b]), q, z), p)

    def split(self, y: State) -> tuple[ParticleState, PyTree[Array]]:
        q, z = _apart(y.z, y.p)
        q, p, z = (self.field.unpack_states(states) for states in (q, y.p, z))
        return ParticleState(q, p), z

    def __call__(self, point: TimePoint, y: State) -> State:
        return linear_equations((self.field, y), self.penalty, self.maximiser)

    def packed_theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        return _theta(self.field, y, self.penalty, self.maximiser)


def _apart(states: PyTree[Array], p: PyTree[Array]) -> Apart:
    if isinstance(states, Apart):
        return states
    count = jax.tree.leaves(p)[0].shape[0]
    return Apart(
        jax.tree.map(lambda leaf: leaf[:count], states),
        jax.tree.map(lambda leaf: leaf[count:], states),
    )


def _velocity(field: AbstractField, states: PyTree[Array], theta: PyTree[Array]) -> PyTree[Array]:
    if isinstance(states, Apart):
        return Apart(field.batch_velocity(states.q, theta), field.batch_velocity(states.z, theta))
    return field.batch_velocity(states, theta)


def _pairing(
    field: AbstractField, states: PyTree[Array], cotangents: PyTree[Array], theta: PyTree[Array]
) -> Float[Array, ""]:
    """$Σ_i ⟨w_i, f(z_i, θ)⟩$."""
    products = jax.tree.map(
        lambda a, b: jnp.sum(a * b), cotangents, _velocity(field, states, theta)
    )
    return jax.tree.reduce(jnp.add, products)


def _theta(
    field: AbstractField, y: State, penalty: Quadratic, maximiser: AbstractMaximiser
) -> PyTree[Array]:
    q, p = (field.unpack_states(states) for states in (_apart(y.z, y.p).q, y.p))
    return field.pack(maximiser(field, penalty, q, p, None).theta)


def _divide(field: AbstractField, penalty: Quadratic, gradient: PyTree[Array]) -> PyTree[Array]:
    """$M^{-1} g$, packed."""
    return field.pack(penalty.solve(field.unpack(gradient)))


def _forward(
    field: AbstractField, y: State, penalty: Quadratic, maximiser: AbstractMaximiser
) -> tuple[State, PyTree[Array]]:
    theta = _theta(field, y, penalty, maximiser)
    q = _apart(y.z, y.p).q
    force = jax.grad(_pairing, argnums=1)(field, q, y.p, theta)
    return State(_velocity(field, y.z, theta), jax.tree.map(jnp.negative, force)), theta


@eqx.filter_custom_vjp
def linear_equations(
    given: tuple[AbstractField, State], penalty: Quadratic, maximiser: AbstractMaximiser
) -> State:
    """Velocities of all states and forces on the particles."""
    field, y = given
    return _forward(field, y, penalty, maximiser)[0]


@linear_equations.def_fwd
def _(perturbed, given, penalty, maximiser):
    field, y = given
    return _forward(field, y, penalty, maximiser)


@linear_equations.def_bwd
def _(theta, bars, perturbed, given, penalty, maximiser):
    arrays, static = eqx.partition(given, eqx.is_inexact_array)

    def lagrangian(arrays: PyTree, theta: PyTree) -> Float[Array, ""]:
        field, y = eqx.combine(arrays, static)
        q = _apart(y.z, y.p).q
        along = jax.jvp(lambda q: _pairing(field, q, y.p, theta), (q,), (bars.p,))[1]
        return _pairing(field, y.z, bars.z, theta) - along

    def correction(arrays: PyTree) -> Float[Array, ""]:
        field, y = eqx.combine(arrays, static)
        q = _apart(y.z, y.p).q
        return jax.jvp(lambda t: _pairing(field, q, y.p, t), (theta,), (turned,))[1]

    turned = _divide(given[0], penalty, jax.grad(lagrangian, argnums=1)(arrays, theta))
    return jax.grad(lambda arrays: lagrangian(arrays, theta) + correction(arrays))(arrays)
