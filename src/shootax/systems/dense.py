"""Block fields with the matrix Θ built at each evaluation: three products.

$$Θ = M^{-1}(p^⊤ φ(q)), \\quad \\dot z = φ(z) Θ^⊤, \\quad \\dot p = -φ'(q)^⊤ (p Θ).$$

Rows are stacked, particles first, and carry the constant feature as a last column of ones (momenta
one of zeros), so that nothing is concatenated inside the time loop. The reverse pass is written out
by hand and keeps Θ from the way forward.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from shootax.activations import identity, is_piecewise_linear
from shootax.fields import AbstractBlockField
from shootax.penalties import Quadratic, SPDMatrix
from shootax.systems.base import AbstractSystem, Moment, ParticleState, State


class DenseSystem(AbstractSystem):
    """Hamilton's equations of a block field, with Θ built."""

    field: AbstractBlockField
    penalty: Quadratic
    particles: ParticleState

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: Float[Array, "rows state"]) -> State:
        rows = jnp.concatenate([particles.q, z])
        return State(_with_column(rows, 1), _with_column(particles.p, 0))

    def split(self, y: State) -> tuple[ParticleState, Float[Array, "rows state"]]:
        count = y.p.shape[0]
        return ParticleState(y.rows[:count, :-1], y.p[:, :-1]), y.rows[count:, :-1]

    def __call__(self, moment: Moment, y: State) -> State:
        return State(*dense_equations((self.field, self.penalty), y.rows, y.p))

    def packed_theta(self, moment: Moment, y: State) -> Float[Array, "state features"]:
        particles, _ = self.split(y)
        phi = self.field.features(particles.q)
        return matrix_star(self.field, self.penalty, phi, particles.p)


def matrix_star(
    field: AbstractBlockField, penalty: Quadratic, phi: Array, p: Array
) -> Float[Array, "state features"]:
    """$Θ^* = M^{-1} (p^⊤ φ(q))$, packed."""
    return _divide(field, penalty, jnp.dot(p.T, phi))


def _divide(field: AbstractBlockField, penalty: Quadratic, sums: Array) -> Array:
    """$M^{-1}$ of a packed matrix, zero where no block is; a row of padding is kept zero."""
    padding = sums.shape[0] - field.layout.state_size
    if any(isinstance(weight, SPDMatrix) for _, weight in penalty.weights):
        solved = field.pack(penalty.solve(field.unpack(sums)))
        return jnp.pad(solved, ((0, padding), (0, 0)))
    weights = np.pad(inverse_weights(field, penalty), ((0, padding), (0, 0)))
    return sums * jnp.asarray(weights, sums.dtype)


def inverse_weights(field: AbstractBlockField, penalty: Quadratic) -> np.ndarray:
    """The constant $W$ with $Θ^* = (p^⊤ φ(q)) ∘ W$, for scalar weights."""
    layout = field.layout
    rows, columns = layout.rows(), layout.columns()
    out = np.zeros((layout.state_size, max(c.stop for c in columns.values())))
    for block in layout.blocks:
        weight = penalty.weight(block.name)
        assert not isinstance(weight, SPDMatrix)
        out[rows[block.target], columns[block.feature]] = 1 / weight
    return out


@functools.partial(jax.custom_vjp, nondiff_argnums=(0,))
def dense_equations(
    model: tuple[AbstractBlockField, Quadratic],
    rows: Float[Array, "all padded"],
    p: Float[Array, "particles padded"],
) -> tuple[Array, Array]:
    """Velocities of all rows and forces on the particles."""
    return _forward(model, rows, p)[0]


def _forward(model, rows, p):
    field, penalty = model
    count = p.shape[0]
    phi = _features(field, rows)
    matrix = _divide(field, penalty, jnp.dot(p.T, phi[:count]))
    push = jnp.dot(p, matrix)
    out = jnp.dot(phi, matrix.T), -_pull(field, rows[:count], push)
    curved = not all(is_piecewise_linear(feature.function) for feature in field.layout.features)
    return out, (rows, p, matrix, push if curved else None)


def _backward(model, saved, bars):
    field, penalty = model
    rows, p, matrix, push = saved
    velocity_bar, force_bar = bars
    count = p.shape[0]
    features = functools.partial(_features, field)
    phi, pull = jax.vjp(features, rows)
    push_bar = -jax.jvp(features, (rows[:count],), (force_bar,))[1]
    sums_bar = jnp.dot(velocity_bar.T, phi) + jnp.dot(p.T, push_bar)
    matrix_bar = _divide(field, penalty, sums_bar)
    phi_bar = jnp.dot(velocity_bar, matrix)
    phi_bar = jnp.concatenate([phi_bar[:count] + jnp.dot(p, matrix_bar), phi_bar[count:]])
    p_bar = jnp.dot(push_bar, matrix.T) + jnp.dot(phi[:count], matrix_bar.T)
    (rows_bar,) = pull(phi_bar)
    if push is not None:
        _, bend = jax.vjp(lambda q: -_pull(field, q, push), rows[:count])
        rows_bar = rows_bar.at[:count].add(bend(force_bar)[0])
    return rows_bar, p_bar


dense_equations.defvjp(_forward, _backward)


def _features(field: AbstractBlockField, rows: Float[Array, "rows padded"]) -> Array:
    """φ of padded rows. Where each part has one feature it is computed in place."""
    layout = field.layout
    if [f.part for f in layout.features] != [*layout.parts, None]:
        return field.features(rows[:, :-1])
    masks = _column_masks(layout)
    out = jnp.where(masks[-1], jnp.ones((), rows.dtype), rows)
    for feature, mask in zip(layout.features, masks[:-1], strict=False):
        if feature.function is not identity:
            out = jnp.where(mask, feature.function(rows), out)
    return out


def _column_masks(layout) -> list[np.ndarray]:
    width = layout.state_size + 1
    masks = []
    for place in layout.columns().values():
        mask = np.zeros((1, width), bool)
        mask[:, place] = True
        masks.append(mask)
    return masks


def _pull(field: AbstractBlockField, q: Array, cotangent: Array) -> Array:
    """$φ'(q)^⊤ c$."""
    _, pull = jax.vjp(functools.partial(_features, field), q)
    return pull(cotangent)[0]


def _with_column(rows: Array, value: float) -> Array:
    return jnp.concatenate([rows, jnp.full((rows.shape[0], 1), value, rows.dtype)], axis=1)
