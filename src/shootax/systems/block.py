"""Shooting for block fields in closed form: with the matrix Θ built, or by kernels without it."""

from typing import Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from shootax.fields import AbstractBlockField
from shootax.penalties import Quadratic, SPDMatrix
from shootax.systems.base import AbstractSystem, Moment, ParticleState, State

Form = Literal["dense", "kernel"]


class BlockSystem(AbstractSystem):
    """Hamilton's equations of a block field. Rows are stacked, particles first."""

    field: AbstractBlockField
    penalty: Quadratic
    particles: ParticleState
    form: Form = eqx.field(static=True)

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: Float[Array, "rows state"]) -> State:
        return State(jnp.concatenate([particles.q, z]), particles.p)

    def split(self, rows: Float[Array, "all state"]) -> tuple[Array, Array]:
        count = self.particles.q.shape[0]
        return rows[:count], rows[count:]

    def __call__(self, moment: Moment, y: State) -> State:
        equations = dense_equations if self.form == "dense" else kernel_equations
        return State(*equations(self.field, self.penalty, y.rows, y.p))

    def packed_theta(self, moment: Moment, y: State) -> Float[Array, "state features"]:
        q, _ = self.split(y.rows)
        return matrix_star(self.field, self.penalty, self.field.features(q), y.p)


def matrix_star(
    field: AbstractBlockField, penalty: Quadratic, phi: Array, p: Array
) -> Float[Array, "state features"]:
    """$Θ^* = M^{-1} (p^⊤ φ(q))$, packed."""
    sums = p.T @ phi
    if any(isinstance(weight, SPDMatrix) for _, weight in penalty.weights):
        return field.pack(penalty.solve(field.unpack(sums)))
    return sums * jnp.asarray(_inverse_weights(field, penalty), sums.dtype)


def dense_equations(
    field: AbstractBlockField,
    penalty: Quadratic,
    rows: Float[Array, "all state"],
    p: Float[Array, "particles state"],
) -> tuple[Array, Array]:
    """Velocity of all rows and force on the particles, by three products:

    $Θ = M^{-1}(p^⊤ φ(q))$, $\\dot z = φ(z) Θ^⊤$, $\\dot p = -φ'(q)^⊤ (p Θ)$.
    """
    q = rows[: p.shape[0]]
    phi = field.features(rows)
    matrix = matrix_star(field, penalty, phi[: p.shape[0]], p)
    return phi @ matrix.T, -_pull(field, q, p @ matrix)


def kernel_equations(
    field: AbstractBlockField,
    penalty: Quadratic,
    rows: Float[Array, "all state"],
    p: Float[Array, "particles state"],
) -> tuple[Array, Array]:
    """The same without Θ, whose rank is at most the number of particles.

    With the Gram matrix $G_f = φ_f(z) φ_f(q)^⊤$ of each feature $f$, the velocity of each part $a$
    is $\\dot z_a = Σ_f G_f\\, p_a M_{af}^{-1}$, and $\\dot p$ is the pull-back through φ of
    $-Σ_a (p_a M_{af}^{-1} p_a^⊤) φ_f(q)$.
    """
    layout, count = field.layout, p.shape[0]
    places, columns = layout.rows(), layout.columns()
    phi = field.features(rows)
    constant = {feature.name for feature in layout.features if feature.part is None}
    grams = {
        name: phi[:, c] @ phi[:count, c].T for name, c in columns.items() if name not in constant
    }
    velocity = {part: jnp.zeros_like(rows[:, place]) for part, place in places.items()}
    forces = {name: jnp.zeros_like(phi[:count, c]) for name, c in columns.items()}
    for part, place in places.items():
        momentum = p[:, place]
        blocks = [block for block in layout.blocks if block.target == part]
        for group in _groups(penalty, [block.name for block in blocks]):
            scaled = _scale(penalty, group, momentum)
            inner = scaled @ momentum.T
            total = jnp.zeros((rows.shape[0], count), rows.dtype)
            for block in blocks:
                if block.name not in group:
                    continue
                factor = group[block.name]
                gram = 1.0 if block.feature in constant else grams[block.feature]
                total = total + factor * gram
                if block.feature not in constant:
                    source = phi[:count, columns[block.feature]]
                    forces[block.feature] = forces[block.feature] + factor * (inner @ source)
            velocity[part] = velocity[part] + total @ scaled
    dz = jnp.concatenate(list(velocity.values()), axis=1)
    force = jnp.concatenate(list(forces.values()), axis=1)
    return dz, -_pull(field, rows[:count], force)


def _pull(field: AbstractBlockField, q: Array, cotangent: Array) -> Array:
    """$φ'(q)^⊤ c$."""
    _, pull = jax.vjp(field.features, q)
    return pull(cotangent)[0]


def _groups(penalty: Quadratic, names: list[str]) -> list[dict[str, float]]:
    """Blocks that share one $M^{-1} p$: all with scalar weights, and each with a matrix.

    Each group maps the names of its blocks to the scalar factors that are left to apply.
    """
    scalars = {n: 1 / w for n in names if not isinstance(w := penalty.weight(n), SPDMatrix)}
    matrices = [{n: 1.0} for n in names if n not in scalars]
    return ([scalars] if scalars else []) + matrices


def _scale(penalty: Quadratic, group: dict[str, float], momentum: Array) -> Array:
    weight = penalty.weight(next(iter(group)))
    if isinstance(weight, SPDMatrix):
        return momentum @ jnp.asarray(weight.inverse, momentum.dtype)
    return momentum


def _inverse_weights(field: AbstractBlockField, penalty: Quadratic) -> np.ndarray:
    """The constant $W$ with $Θ^* = (p^⊤ φ(q)) ∘ W$: inverse weights, zero where no block is."""
    layout = field.layout
    rows, columns = layout.rows(), layout.columns()
    out = np.zeros((layout.state_size, max(c.stop for c in columns.values())))
    for block in layout.blocks:
        weight = penalty.weight(block.name)
        assert not isinstance(weight, SPDMatrix)
        out[rows[block.target], columns[block.feature]] = 1 / weight
    return out
