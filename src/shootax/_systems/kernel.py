"""Block fields by kernels: the matrix Θ, whose rank is at most the number of particles, is not built.

With the Gram matrix $G_f = φ_f(z) φ_f(q)^⊤$ of each feature $f$, and $Q_g = p_a M_g^{-1}$ for each
group $g$ of blocks that move part $a$ with one $M_g$ (up to scalar factors $w_{gf}$),

$$A_g = Σ_f w_{gf} G_f, \\quad \\dot z_a = Σ_g A_g Q_g, \\quad
C_f = Σ_g w_{gf}\\, Q_g p_a^⊤, \\quad \\dot p_a = -Σ_f φ_f'(q_a) ∘ (C_f φ_f(q_a)).$$

If the number of particles is just short of a multiple of eight, it is padded to one. The reverse pass is
written by hand. It uses that $G$ among particles and $C$ are symmetric, and reuses $A$ and $C$ from the
forward pass.
"""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax._activations import is_piecewise_linear
from shootax._fields import AbstractBlockField, Feature
from shootax._penalties import Quadratic, SPDMatrix
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint
from shootax._systems.dense import matrix_star, padding

Parts = tuple[Array, ...]


class KernelSystem(AbstractSystem):
    """Hamilton's equations of a block field, by kernels. Each part of the state is its own array."""

    field: AbstractBlockField
    penalty: Quadratic
    particles: ParticleState

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: Float[Array, "batch state"]) -> State:
        places = list(self.field.layout.part_slices().values())
        idle = ((0, padding(len(particles.q))), (0, 0))
        q, p = jnp.pad(particles.q, idle, mode="edge"), jnp.pad(particles.p, idle)
        states = tuple(jnp.concatenate([q[:, c], z[:, c]]) for c in places)
        return State(states, tuple(p[:, c] for c in places))

    def split(self, y: State) -> tuple[ParticleState, Float[Array, "batch state"]]:
        count, padded = len(self.particles.q), y.p[0].shape[0]
        states, p = jnp.concatenate(y.z, axis=1), jnp.concatenate(y.p, axis=1)
        return ParticleState(states[:count], p[:count]), states[padded:]

    def __call__(self, point: TimePoint, y: State) -> State:
        moved: Any = kernel_equations(plan(self.field, self.penalty), y.z, y.p)
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


@dataclasses.dataclass(frozen=True)
class Group:
    """Blocks that move one part with one matrix $M^{-1}$ (`None`: the identity).

    `factors` are the factors of the varying features (0: no such block), `constant` is that of the
    constant feature.
    """

    part: int
    matrix: SPDMatrix | None
    factors: tuple[float, ...]
    constant: float


@dataclasses.dataclass(frozen=True)
class Plan:
    """The groups of a field and penalty, its varying features, and the part each is a function of."""

    groups: tuple[Group, ...]
    features: tuple[Feature, ...]
    sources: tuple[int, ...]


@functools.lru_cache(maxsize=256)
def plan(field: AbstractBlockField, penalty: Quadratic) -> Plan:
    """Sort the blocks of a field into groups."""
    layout = field.layout
    names = list(layout.parts)
    varying = tuple(feature for feature in layout.features if feature.part is not None)
    constant = {feature.name for feature in layout.features if feature.part is None}
    groups = []
    for index, part in enumerate(names):
        blocks = [block for block in layout.blocks if block.target == part]
        strengths: dict[str, Any] = {block.name: penalty.strength(block.name) for block in blocks}
        scalar = [b for b in blocks if not isinstance(strengths[b.name], SPDMatrix)]
        for members in ([scalar] if scalar else []) + [[b] for b in blocks if b not in scalar]:
            first = strengths[members[0].name]
            matrix = first if isinstance(first, SPDMatrix) else None
            factors = {b.feature: 1.0 if matrix else 1 / float(strengths[b.name]) for b in members}
            groups.append(
                Group(
                    part=index,
                    matrix=matrix,
                    factors=tuple(factors.get(feature.name, 0.0) for feature in varying),
                    constant=sum((w for name, w in factors.items() if name in constant), 0.0),
                )
            )
    sources = tuple(names.index(str(feature.part)) for feature in varying)
    return Plan(tuple(groups), varying, sources)


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def kernel_equations(plan: Plan, states: Parts, p: Parts) -> tuple[Parts, Parts]:
    """Velocities of all states and forces on the particles, part by part."""
    return _forward(plan, states, p)[0]


def _forward(plan: Plan, states: Parts, p: Parts) -> tuple[tuple[Parts, Parts], tuple]:
    count = p[0].shape[0]
    phi = [f.function(states[a]) for f, a in zip(plan.features, plan.sources, strict=True)]
    grams = [jnp.dot(f, f[:count].T) for f in phi]
    mixed = [mix(g.factors, grams, g.constant, (len(states[0]), count), p[0]) for g in plan.groups]
    scaled = [scale(g, p[g.part]) for g in plan.groups]
    inner = [jnp.dot(s, p[g.part].T) for s, g in zip(scaled, plan.groups, strict=True)]
    velocity = sum_by(
        [(g.part, jnp.dot(a, s)) for a, s, g in zip(mixed, scaled, plan.groups, strict=True)],
        states,
    )
    couplings = [
        mix([g.factors[i] for g in plan.groups], inner, 0.0, (count, count), p[0])
        for i in range(len(phi))
    ]
    pushes = [jnp.dot(c, f[:count]) for c, f in zip(couplings, phi, strict=True)]
    forces = sum_by(
        [
            (a, -(derivative(f)(states[a][:count]) * push))
            for f, a, push in zip(plan.features, plan.sources, pushes, strict=True)
        ],
        p,
    )
    curved = [
        None if is_piecewise_linear(f.function) else push
        for f, push in zip(plan.features, pushes, strict=True)
    ]
    return (velocity, forces), (states, p, mixed, couplings, curved)


def _backward(plan: Plan, saved: tuple, bars: tuple[Parts, Parts]) -> tuple[Parts, Parts]:
    states, p, mixed, couplings, curved = saved
    velocity_bar, force_bar = bars
    count = p[0].shape[0]
    groups, features = plan.groups, list(zip(plan.features, plan.sources, strict=True))
    phi = [f.function(states[a]) for f, a in features]
    slope = [derivative(f)(states[a]) for f, a in features]
    push_bar = [-(s[:count] * force_bar[a]) for s, (_, a) in zip(slope, features, strict=True)]

    scaled = [scale(g, p[g.part]) for g in groups]
    mixed_bar = [jnp.dot(velocity_bar[g.part], s.T) for g, s in zip(groups, scaled, strict=True)]
    couplings_bar = [jnp.dot(b, f[:count].T) for b, f in zip(push_bar, phi, strict=True)]
    inner_bar = [
        _symmetric(mix(g.factors, couplings_bar, 0.0, (count, count), p[0])) for g in groups
    ]
    p_bar = sum_by(
        [
            (g.part, scale(g, jnp.dot(a.T, velocity_bar[g.part])) + jnp.dot(b, s))
            for g, a, b, s in zip(groups, mixed, inner_bar, scaled, strict=True)
        ],
        p,
    )
    terms = []
    for i, (feature, a) in enumerate(features):
        factors = [g.factors[i] for g in groups]
        gram_bar = mix(factors, mixed_bar, 0.0, (len(states[0]), count), p[0])
        # Particles are on both sides of their Gram matrix, data on one.
        both = jnp.concatenate([_symmetric(gram_bar[:count]), gram_bar[count:]])
        particles = jnp.dot(both.T, phi[i]) + jnp.dot(couplings[i], push_bar[i])
        data = jnp.dot(gram_bar[count:], phi[i][:count])
        bar = slope[i] * jnp.concatenate([particles, data])
        if curved[i] is not None:
            bend = second_derivative(feature)(states[a][:count])
            bar = bar.at[:count].add(-bend * force_bar[a] * curved[i])
        terms.append((a, bar))
    return sum_by(terms, states), p_bar


kernel_equations.defvjp(_forward, _backward)


def mix(factors: Any, matrices: list[Array], constant: float, size: tuple, like: Array) -> Array:
    """$Σ_i w_i X_i + c$, without the terms whose factor is zero."""
    terms = [m if w == 1 else w * m for w, m in zip(factors, matrices, strict=True) if w]
    if not terms:
        return jnp.full(size, constant, like.dtype)
    total = functools.reduce(jnp.add, terms)
    return total + constant if constant else total


def scale(group: Group, momentum: Array) -> Array:
    """$p M^{-1}$."""
    if group.matrix is None:
        return momentum
    return jnp.dot(momentum, jnp.asarray(group.matrix.inverse, momentum.dtype))


def sum_by(terms: list[tuple[int, Array]], like: Parts) -> Parts:
    """For each part the sum of the terms that belong to it; zero where there is none."""
    out = []
    for index, template in enumerate(like):
        mine = [term for part, term in terms if part == index]
        out.append(functools.reduce(jnp.add, mine) if mine else jnp.zeros_like(template))
    return tuple(out)


def _symmetric(matrix: Array) -> Array:
    return matrix + matrix.T


def derivative(feature: Feature):
    return lambda z: jax.jvp(feature.function, (z,), (jnp.ones_like(z),))[1]


def second_derivative(feature: Feature):
    return lambda z: jax.jvp(derivative(feature), (z,), (jnp.ones_like(z),))[1]
