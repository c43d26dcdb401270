"""Block fields with the matrix Θ built at each evaluation: three products.

$$Θ = M^{-1}(p^⊤ φ(q)), \\quad \\dot z = φ(z) Θ^⊤, \\quad \\dot p = -φ'(q)^⊤ (p Θ).$$

All states, particles first, are the *columns* of one array, so that the long axis is the last one, which
is vectorised. The constant feature is a last row of ones (momenta have a column of zeros), so that
nothing is concatenated inside the time loop. If the number of particles is just short of a multiple of
eight, it is padded to one. The reverse pass is written by hand and reuses Θ from the forward pass.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from shootax._activations import ACTIVATIONS, identity, is_piecewise_linear
from shootax._fields import AbstractBlockField
from shootax._penalties import Quadratic, SPDMatrix
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint


class DenseSystem(AbstractSystem):
    """Hamilton's equations (Eq. EqShootingForward) of a block field, with Θ built."""

    field: AbstractBlockField
    penalty: Quadratic
    particles: ParticleState

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: Float[Array, "batch state"]) -> State:
        more = padding(len(particles.q))
        q, p = jnp.pad(particles.q, ((0, more), (0, 0)), mode="edge"), particles.p
        states = jnp.concatenate([q, z]).T
        ones = jnp.ones((1, states.shape[1]), states.dtype)
        return State(jnp.concatenate([states, ones]), jnp.pad(p, ((0, more), (0, 1))))

    def split(self, y: State) -> tuple[ParticleState, Float[Array, "batch state"]]:
        count, padded, states = len(self.particles.q), y.p.shape[0], y.z[:-1].T
        return ParticleState(states[:count], y.p[:count, :-1]), states[padded:]

    def __call__(self, point: TimePoint, y: State) -> State:
        moved: Any = dense_equations((self.field, self.penalty), y.z, y.p)
        states, p = moved
        if self.field.layout.damping:
            decay = jnp.pad(self.field.damping_vector().astype(states.dtype), (0, 1))
            return State(states - decay[:, None] * y.z, p + decay[None] * y.p)
        return State(states, p)

    def packed_theta(self, point: TimePoint, y: State) -> Float[Array, "state features"]:
        particles, _ = self.split(y)
        phi = self.field.features(particles.q)
        return matrix_star(self.field, self.penalty, phi, particles.p)


def padding(particles: int) -> int:
    """The number of particles without momentum to add at the position of the last one. They move
    nothing, but products whose sides are just short of a multiple of eight are slower than full ones."""
    short = -particles % 8
    return short if short <= 2 else 0


def matrix_star(
    field: AbstractBlockField, penalty: Quadratic, phi: Array, p: Array
) -> Float[Array, "state features"]:
    """$Θ^* = M^{-1} (p^⊤ φ(q))$, packed."""
    return _divide(field, penalty, jnp.dot(phi.T, p)).T


def _divide(field: AbstractBlockField, penalty: Quadratic, sums: Array) -> Array:
    """$Θ^⊤$ from $φ(q)^⊤ p$, zero where there is no block; columns of padding are zero, too."""
    padding = ((0, sums.shape[1] - field.layout.state_size), (0, 0))
    if any(isinstance(strength, SPDMatrix) for _, strength in penalty.strengths):
        return jnp.pad(field.pack(penalty.solve(field.unpack(sums.T))), padding).T
    return sums * jnp.asarray(np.pad(inverse_strengths(field, penalty), padding).T, sums.dtype)


def inverse_strengths(field: AbstractBlockField, penalty: Quadratic) -> np.ndarray:
    """The constant $W$ with $Θ^* = (p^⊤ φ(q)) ∘ W$, for strengths that are numbers."""
    layout = field.layout
    parts, features = layout.part_slices(), layout.feature_slices()
    out = np.zeros((layout.state_size, max(c.stop for c in features.values())))
    for block in layout.blocks:
        strength = penalty.strength(block.name)
        assert not isinstance(strength, SPDMatrix)
        out[parts[block.target], features[block.feature]] = 1 / strength
    return out


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def dense_equations(
    model: tuple[AbstractBlockField, Quadratic],
    states: Float[Array, "padded all"],
    p: Float[Array, "particles padded"],
) -> tuple[Array, Array]:
    """Velocities of all states and forces on the particles."""
    return _forward(model, states, p)[0]


def _forward(model, states, p):
    field, penalty = model
    count = p.shape[0]
    phi = _features(field, states)
    turned = _divide(field, penalty, jnp.dot(phi[:, :count], p))
    # A column for each particle: a product with the transpose of θ is several times slower.
    push = jnp.dot(turned, p.T)
    out = jnp.dot(turned.T, phi), -_pull(field, states[:, :count], push)
    curved = not all(is_piecewise_linear(feature.function) for feature in field.layout.features)
    return out, (states, p, turned, push if curved else None)


def _backward(model, saved, bars):
    field, penalty = model
    states, p, turned, push = saved
    velocity_bar, force_bar = bars
    count = p.shape[0]
    features = functools.partial(_features, field)
    phi, pull = jax.vjp(features, states)
    push_bar = -jax.jvp(features, (states[:, :count],), (force_bar.T,))[1]
    left = jnp.concatenate([phi, push_bar], axis=1)
    turned_bar = _divide(field, penalty, jnp.dot(left, jnp.concatenate([velocity_bar.T, p])))
    p_bar = jnp.dot(push_bar.T, turned) + jnp.dot(phi[:, :count].T, turned_bar)
    phi_bar = jnp.dot(turned, velocity_bar)
    particles = phi_bar[:, :count] + jnp.dot(turned_bar, p.T)
    (states_bar,) = pull(jnp.concatenate([particles, phi_bar[:, count:]], axis=1))
    if push is not None:
        _, bend = jax.vjp(lambda q: -_pull(field, q, push), states[:, :count])
        states_bar = states_bar.at[:, :count].add(bend(force_bar)[0])
    return states_bar, p_bar


dense_equations.defvjp(_forward, _backward)


def _features(field: AbstractBlockField, states: Float[Array, "padded all"]) -> Array:
    """φ of all columns. If each part has one feature, it is computed in place."""
    layout = field.layout
    if [f.part for f in layout.features] != [*layout.parts, None]:
        return field.features(states[:-1].T).T
    line = np.arange(layout.state_size + 1)[:, None]
    out = jnp.where(line == layout.state_size, jnp.ones((), states.dtype), states)
    for feature, place in zip(layout.features, layout.feature_slices().values(), strict=True):
        if feature.function is not identity:
            mask = (line >= place.start) & (line < place.stop)
            given = states
            if feature.function not in EVERYWHERE:
                # Other rows could be outside the domain of the function and give NaN, and zero times
                # NaN in the derivative. They are replaced by a row of this part.
                one = jax.lax.stop_gradient(states[place.start])
                given = jnp.where(mask, states, one[None])
            out = jnp.where(mask, feature.function(given), out)
    return out


EVERYWHERE = frozenset(ACTIVATIONS.values())
"""Functions that are finite at all numbers, as are their derivatives."""


def _pull(field: AbstractBlockField, q: Array, cotangent: Array) -> Array:
    """$φ'(q)^⊤ c$, with a row for each particle, from a column for each."""
    _, pull = jax.vjp(functools.partial(_features, field), q)
    return pull(cotangent)[0].T
