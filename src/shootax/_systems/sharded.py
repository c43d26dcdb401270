"""Block fields by kernels, with the particles spread over devices.

Each device moves its own particles and its own data, and needs the positions and momenta of all
particles for it: one exchange for each evaluation, and its transpose on the way back. The Gram matrices,
which are what is large, have rows for the device's own states alone. The equations are those of
`kernel`; here rows and columns are different sets, so that no symmetry is left to use.
"""

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax._axes import PARTICLES, size_of
from shootax._fields import AbstractBlockField
from shootax._penalties import Quadratic
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint
from shootax._systems.dense import matrix_star
from shootax._systems.kernel import Parts, Plan, derivative, mix, plan, scale, sum_by


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
        """Particles without momentum, which move nobody, make their number even for all devices."""
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
        states, p = sharded_equations(plan(self.field, self.penalty), y.z, y.p)
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
    """The particles of this device, of those of all."""
    size = particles.shape[0] // size_of(PARTICLES)
    return jax.lax.dynamic_slice_in_dim(particles, jax.lax.axis_index(PARTICLES) * size, size)


def _all(particles: Array) -> Array:
    """The particles of all devices, from those of each."""
    return jax.lax.all_gather(particles, PARTICLES, tiled=True)


def sharded_equations(plan: Plan, states: Parts, p: Parts) -> tuple[Parts, Parts]:
    """Velocities of all states and forces on the particles of this device, part by part."""
    own = p[0].shape[0]
    sizes = [part.shape[1] for part in p]
    everyone = _all(jnp.concatenate([*(part[:own] for part in states), *p], axis=1))
    edges = functools.reduce(lambda edges, size: [*edges, edges[-1] + size], sizes * 2, [0])
    parts = [everyone[:, a:b] for a, b in itertools.pairwise(edges)]
    q_all, p_all = parts[: len(p)], parts[len(p) :]
    sources = list(zip(plan.features, plan.sources, strict=True))
    phi = [f.function(states[a]) for f, a in sources]
    phi_all = [f.function(q_all[a]) for f, a in sources]
    grams = [jnp.dot(mine, all_.T) for mine, all_ in zip(phi, phi_all, strict=True)]
    shape = (len(states[0]), len(everyone))
    mixed = [mix(g.factors, grams, g.constant, shape, p[0]) for g in plan.groups]
    scaled = [scale(g, p_all[g.part]) for g in plan.groups]
    inner = [jnp.dot(scale(g, p[g.part]), p_all[g.part].T) for g in plan.groups]
    velocity = sum_by(
        [(g.part, jnp.dot(a, s)) for a, s, g in zip(mixed, scaled, plan.groups, strict=True)],
        states,
    )
    forces: list[tuple[int, Any]] = []
    for i, (feature, a) in enumerate(sources):
        factors = [g.factors[i] for g in plan.groups]
        coupling = mix(factors, inner, 0.0, (own, len(everyone)), p[0])
        push = jnp.dot(coupling, phi_all[i])
        forces.append((a, -(derivative(feature)(states[a][:own]) * push)))
    return velocity, sum_by(forces, p)
