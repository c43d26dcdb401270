"""Any field linear in θ with a quadratic penalty: shooting, and its reverse pass, from `f` alone.

With $P(q, p, θ) = Σ_j ⟨p_j, f(q_j, θ)⟩$ the equations are $θ = M^{-1} ∂_θ P$, $\\dot z = f(z, θ)$ for
all states and $\\dot p = -∂_q P$. For cotangents $\\bar v$ of the velocities and $\\bar w$ of the forces
let

$$L = Σ_i ⟨\\bar v_i, f(z_i, θ)⟩ - ∂_q P(q, p, θ)[\\bar w], \\qquad θ' = M^{-1} ∂_θ L.$$

Then the cotangents of everything that the equations depend on are the partial derivatives, at fixed θ and
θ', of $L + ∂_θ P(q, p, θ)[θ']$. Only θ is stored in the forward pass, and there are as many products as
in a reverse pass written by hand; differentiating the equations step by step needs more.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax._fields import AbstractField
from shootax._fields.chunks import by_chunks, joined
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
        return Apart(field.batch_velocity(states.q, theta), field.chunked_velocity(states.z, theta))
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
    apart = isinstance(given[1].z, Apart)

    def lagrangian(arrays: PyTree, theta: PyTree) -> Float[Array, ""]:
        field, y = eqx.combine(arrays, static)
        q = _apart(y.z, y.p).q
        along = jax.jvp(lambda q: _pairing(field, q, y.p, theta), (q,), (bars.p,))[1]
        moved, cotangents = (q, bars.z.q) if apart else (y.z, bars.z)
        return _pairing(field, moved, cotangents, theta) - along

    def correction(arrays: PyTree) -> Float[Array, ""]:
        field, y = eqx.combine(arrays, static)
        q = _apart(y.z, y.p).q
        return jax.jvp(lambda t: _pairing(field, q, y.p, t), (theta,), (turned,))[1]

    gradient = jax.grad(lagrangian, argnums=1)(arrays, theta)
    if apart:  # data move nothing, so one pass suffices for them
        in_field, in_z, in_theta = _data_gradient(given[0], given[1].z.z, bars.z.z, theta)
        gradient = jax.tree.map(jnp.add, gradient, in_theta)
    turned = _divide(given[0], penalty, gradient)
    out = jax.grad(lambda arrays: lagrangian(arrays, theta) + correction(arrays))(arrays)
    if not apart:
        return out
    field, y = out
    y = y._replace(z=y.z._replace(z=in_z))
    return jax.tree.map(jnp.add, field, in_field), y


def _data_gradient(
    field: AbstractField, z: PyTree[Array], cotangents: PyTree[Array], theta: PyTree[Array]
) -> tuple[PyTree[Array], PyTree[Array], PyTree[Array]]:
    """The gradient of $Σ_i ⟨w_i, f(z_i, θ)⟩$ in the field's own arrays, in the states and in θ."""
    arrays, static = eqx.partition(field, eqx.is_inexact_array)

    def pairing(arrays: PyTree, z: PyTree, theta: PyTree, cotangents: PyTree) -> Float[Array, ""]:
        return _pairing(eqx.combine(arrays, static), z, cotangents, theta)

    def one(z: PyTree, cotangents: PyTree) -> tuple[PyTree, PyTree, PyTree]:
        return jax.grad(pairing, argnums=(0, 1, 2))(arrays, z, theta, cotangents)

    chunk = field.chunk_size(z)
    if chunk == jax.tree.leaves(z)[0].shape[0]:
        return one(z, cotangents)
    in_field, in_z, in_theta = by_chunks(one, chunk, z, cotangents)
    in_field, in_theta = jax.tree.map(lambda leaf: jnp.sum(leaf, axis=0), (in_field, in_theta))
    return in_field, joined(in_z), in_theta
