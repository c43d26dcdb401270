"""Block fields by kernels, with the particles spread over devices.

Each device moves its own particles and its own data, and needs the positions and momenta of all
particles for this: one exchange per evaluation, and its transpose in the reverse pass. The Gram matrices,
which need the most memory, have rows only for the device's own states. The equations are those of
`kernel`, but rows and columns are different sets, so there is no symmetry to use.
"""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax._activations import is_piecewise_linear
from shootax._axes import PARTICLES, size_of
from shootax._fields import AbstractBlockField
from shootax._penalties import Quadratic
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint
from shootax._systems.dense import matrix_star
from shootax._systems.kernel import (
    Parts,
    Plan,
    derivative,
    mix,
    plan,
    scale,
    second_derivative,
    sum_by,
)


class ShardedKernelSystem(AbstractSystem):
    """Hamilton's equations of a block field, by kernels, on one of several devices."""

    field: AbstractBlockField
    penalty: Quadratic
    particles: ParticleState

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: Float[Array, "batch state"]) -> State:
        """Pad with particles without momentum, which move nothing, to the same number on each device."""
        places = list(self.field.layout.part_slices().values())
        idle = ((0, -len(particles.q) % size_of(PARTICLES)), (0, 0))
        q = _own(jnp.pad(particles.q, idle, mode="edge"))
        p = _own(jnp.pad(particles.p, idle))
        states = tuple(jnp.concatenate([q[:, c], z[:, c]]) for c in places)
        return State(states, tuple(p[:, c] for c in places))

    def split(self, y: State) -> tuple[ParticleState, Float[Array, "batch state"]]:
        count, own = len(self.particles.q), y.p[0].shape[0]
        states, p = jnp.concatenate(y.z, axis=1), jnp.concatenate(y.p, axis=1)
        q, p = (_all(part)[:count] for part in (states[:own], p))
        return ParticleState(q, p), states[own:]

    def __call__(self, point: TimePoint, y: State) -> State:
        moved: Any = sharded_equations(plan(self.field, self.penalty), y.z, y.p)
        states, p = moved
        if self.field.layout.damping:
            rates = dict(self.field.layout.damping)
            decays = [rates.get(part, 0.0) for part in self.field.layout.parts]
            states = tuple(d - c * z for d, c, z in zip(states, decays, y.z, strict=True))
            p = tuple(d + c * m for d, c, m in zip(p, decays, y.p, strict=True))
        return State(states, p)

    def packed_theta(self, point: TimePoint, y: State) -> Float[Array, "state features"]:
        particles, _ = self.split(y)
        phi = self.field.features(particles.q)
        return matrix_star(self.field, self.penalty, phi, particles.p)


def _own(particles: Array) -> Array:
    """Select the particles of this device from those of all devices."""
    size = particles.shape[0] // size_of(PARTICLES)
    return jax.lax.dynamic_slice_in_dim(particles, jax.lax.axis_index(PARTICLES) * size, size)


def _all(particles: Array) -> Array:
    """Gather the particles of all devices from those of each."""
    return jax.lax.all_gather(particles, PARTICLES, tiled=True)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def sharded_equations(plan: Plan, states: Parts, p: Parts) -> tuple[Parts, Parts]:
    """Velocities of all states and forces on the particles of this device, part by part."""
    return _forward(plan, states, p)[0]


def _forward(plan: Plan, states: Parts, p: Parts) -> tuple[tuple[Parts, Parts], tuple]:
    own = p[0].shape[0]
    sources = list(zip(plan.features, plan.sources, strict=True))
    q_all, p_all = _everyone(states, p)
    phi_all = [f.function(q_all[a]) for f, a in sources]
    grams = [
        jnp.dot(f.function(states[a]), all_.T)
        for (f, a), all_ in zip(sources, phi_all, strict=True)
    ]
    shape = (len(states[0]), len(p_all[0]))
    mixed = [mix(g.factors, grams, g.constant, shape, p[0]) for g in plan.groups]
    scaled = [scale(g, p_all[g.part]) for g in plan.groups]
    velocity = sum_by(
        [(g.part, jnp.dot(a, s)) for a, s, g in zip(mixed, scaled, plan.groups, strict=True)],
        states,
    )
    inner = [jnp.dot(p[g.part], s.T) for g, s in zip(plan.groups, scaled, strict=True)]
    couplings = [
        mix([g.factors[i] for g in plan.groups], inner, 0.0, (own, shape[1]), p[0])
        for i in range(len(sources))
    ]
    pushes = [jnp.dot(c, f) for c, f in zip(couplings, phi_all, strict=True)]
    forces = sum_by(
        [
            (a, -(derivative(f)(states[a][:own]) * push))
            for (f, a), push in zip(sources, pushes, strict=True)
        ],
        p,
    )
    curved = [
        None if is_piecewise_linear(f.function) else push
        for f, push in zip(plan.features, pushes, strict=True)
    ]
    return (velocity, forces), (states, p, q_all, p_all, mixed, couplings, curved)


def _backward(plan: Plan, saved: tuple, bars: tuple[Parts, Parts]) -> tuple[Parts, Parts]:
    """The reverse pass of `kernel`, for the particles of all devices. One sum over the devices collects
    the cotangents of this device's particles."""
    states, p, q_all, p_all, mixed, couplings, curved = saved
    velocity_bar, force_bar = bars
    own, size = p[0].shape[0], (len(states[0]), len(p_all[0]))
    groups, sources = plan.groups, list(zip(plan.features, plan.sources, strict=True))
    phi = [f.function(states[a]) for f, a in sources]
    phi_all = [f.function(q_all[a]) for f, a in sources]
    slope = [derivative(f)(states[a]) for f, a in sources]
    push_bar = [-(s[:own] * force_bar[a]) for s, (_, a) in zip(slope, sources, strict=True)]

    scaled = [scale(g, p_all[g.part]) for g in groups]
    mixed_bar = [jnp.dot(velocity_bar[g.part], s.T) for g, s in zip(groups, scaled, strict=True)]
    couplings_bar = [jnp.dot(b, f.T) for b, f in zip(push_bar, phi_all, strict=True)]
    inner_bar = [mix(g.factors, couplings_bar, 0.0, (own, size[1]), p[0]) for g in groups]
    p_bar = sum_by(
        [(g.part, jnp.dot(b, s)) for g, b, s in zip(groups, inner_bar, scaled, strict=True)], p
    )
    p_all_bar = sum_by(
        [
            (g.part, scale(g, jnp.dot(a.T, velocity_bar[g.part]) + jnp.dot(b.T, p[g.part])))
            for g, a, b in zip(groups, mixed, inner_bar, strict=True)
        ],
        p_all,
    )
    grams_bar = [
        mix([g.factors[i] for g in groups], mixed_bar, 0.0, size, p[0]) for i in range(len(sources))
    ]
    phi_bar = [jnp.dot(b, f) for b, f in zip(grams_bar, phi_all, strict=True)]
    phi_all_bar = [
        jnp.dot(b.T, f) + jnp.dot(c.T, push)
        for b, f, c, push in zip(grams_bar, phi, couplings, push_bar, strict=True)
    ]
    found = _collected([*phi_all_bar, *p_all_bar])
    terms = []
    for i, (feature, a) in enumerate(sources):
        bar = slope[i] * _added(phi_bar[i], found[i])
        if curved[i] is not None:
            bend = second_derivative(feature)(states[a][:own])
            bar = _added(bar, -bend * force_bar[a] * curved[i])
        terms.append((a, bar))
    p_bar = tuple(b + c for b, c in zip(p_bar, found[len(sources) :], strict=True))
    return sum_by(terms, states), p_bar


sharded_equations.defvjp(_forward, _backward)


def _everyone(states: Parts, p: Parts) -> tuple[list[Array], list[Array]]:
    """Positions and momenta of the particles of all devices, part by part: one exchange."""
    own = p[0].shape[0]
    parts = _apart(_all(jnp.concatenate([*(part[:own] for part in states), *p], axis=1)), [*p, *p])
    return parts[: len(p)], parts[len(p) :]


def _collected(bars: list[Array]) -> list[Array]:
    """Sum what all devices computed for the particles of this device: the transpose of `_all`."""
    together = jnp.concatenate(bars, axis=1)
    return _apart(jax.lax.psum_scatter(together, PARTICLES, tiled=True), bars)


def _added(rows: Array, first: Array) -> Array:
    """Add `first` to the first rows."""
    return jnp.concatenate([rows[: len(first)] + first, rows[len(first) :]])


def _apart(columns: Array, like: list[Array]) -> list[Array]:
    """Split arrays that are side by side, each as wide as that in `like`."""
    edges = [0, *itertools.accumulate(part.shape[1] for part in like)]
    return [columns[:, a:b] for a, b in itertools.pairwise(edges)]
