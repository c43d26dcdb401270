"""L-BFGS, one evaluation of the objective at a time.

A line search is usually a loop inside a loop, and a program then holds the objective several times. Here
the search is a state: every step evaluates the objective once, at the point that the state asks for, and
either accepts that point or asks for another one on the same line. So a program holds the objective once,
every step takes the same time, and nets that are mapped may be at different places of their searches.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

SUFFICIENT, CURVATURE = 1e-4, 0.9
"""Of the slope at the start of a line: what fraction of it the objective must fall by, and to what
fraction of it the slope must come down (the conditions of Wolfe)."""

MOST = 15
"""Evaluations of one line search, after which the direction is given up."""


class Line(NamedTuple):
    """The search along a direction: the last length asked for, and what is known on both sides."""

    direction: Float[Array, " n"]
    slope: Array  # of the objective at the start
    length: Array
    low: Array  # long enough to fall, too short to flatten
    low_value: Array
    low_slope: Array
    high: Array  # too long, infinite while none was
    tried: Array


class Search(NamedTuple):
    """The best point so far, its objective and gradient, the line to search next, and the last changes
    of points and of gradients, newest last."""

    point: Float[Array, " n"]
    value: Array
    gradient: Float[Array, " n"]
    line: Line
    moves: Float[Array, "memory n"]
    turns: Float[Array, "memory n"]
    curvatures: Float[Array, " memory"]  # moves · turns, zero where there is none
    over: Array

    @property
    def trial(self) -> Float[Array, " n"]:
        """Where to evaluate the objective next."""
        return self.point + self.line.length * self.line.direction


def begin_search(point: Float[Array, " n"], memory: int) -> Search:
    """Before the first evaluation, which is at the point itself."""
    zero = jnp.zeros((), point.dtype)
    line = Line(jnp.zeros_like(point), zero, zero, zero, zero, zero, zero + jnp.inf, zero)
    past = jnp.zeros((memory, *point.shape), point.dtype)
    none = jnp.zeros(memory, point.dtype)
    return Search(
        point, zero + jnp.inf, jnp.zeros_like(point), line, past, past, none, jnp.zeros((), bool)
    )


def search_step(search: Search, value: Array, gradient: Float[Array, " n"]) -> tuple[Search, Array]:
    """The search after the objective and its gradient at `search.trial` are known, and whether that
    point is the best one now."""
    line, dtype = search.line, search.point.dtype
    value = value.astype(dtype)
    first = jnp.isinf(search.value)
    finite = jnp.isfinite(value) & jnp.isfinite(gradient).all()
    slope = jnp.vdot(gradient, line.direction)
    slack = 4 * jnp.finfo(dtype).eps * jnp.abs(search.value)
    low_enough = value <= search.value + SUFFICIENT * line.length * line.slope + slack
    flat_enough = slope >= CURVATURE * line.slope
    falls = finite & low_enough & ~first
    accepted = first | (falls & flat_enough)
    # A search that takes too long ends at a lower point, if it found one, else without a direction.
    spent = ~accepted & (line.tried + 1 >= MOST)
    moved = accepted | (spent & falls & (value < search.value))
    searching = ~moved & ~spent
    after = choose(
        searching,
        search._replace(line=_narrowed(line, value, slope, falls)),
        _next_line(search, value, gradient, moved, spent & ~moved, first),
    )
    return after, moved


def _narrowed(line: Line, value: Array, slope: Array, falls: Array) -> Line:
    """The same line, with a new length to ask for: between the two known ones, or farther."""
    length = line.length
    low, low_value, low_slope = (
        jnp.where(falls, new, old)
        for new, old in ((length, line.low), (value, line.low_value), (slope, line.low_slope))
    )
    high = jnp.where(falls, line.high, length)
    width = high - low
    # The lowest point of the parabola through the low end, its slope, and the value at the other.
    bend = value - line.low_value - line.low_slope * (length - line.low)
    vertex = -line.low_slope * (length - line.low) ** 2 / (2 * bend)
    inside = jnp.clip(vertex, 0.1 * width, 0.5 * width)
    good = ~falls & jnp.isfinite(vertex) & (bend > 0)
    between = low + jnp.where(good, inside, 0.5 * width)
    asked = jnp.where(jnp.isinf(high), 2 * length, between)
    return Line(line.direction, line.slope, asked, low, low_value, low_slope, high, line.tried + 1)


def _next_line(
    search: Search, value: Array, gradient: Array, moved: Array, failed: Array, first: Array
) -> Search:
    """A new direction from the new point; or, after a failure, downhill from the old one. Where that
    fails as well, or the gradient is zero, the search is over."""
    trial = search.trial
    move, turn = trial - search.point, gradient - search.gradient
    curvature = jnp.vdot(move, turn)
    tiny = jnp.finfo(move.dtype).eps * jnp.vdot(turn, turn)
    keeps = moved & ~first & (curvature > tiny)
    moves, turns, curvatures = (
        jnp.where(keeps, jnp.concatenate([old[1:], new[None]]), old)
        for old, new in (
            (search.moves, move),
            (search.turns, turn),
            (search.curvatures, curvature),
        )
    )
    had = jnp.any(curvatures > 0)
    curvatures = jnp.where(failed, jnp.zeros_like(curvatures), curvatures)
    point, lowest, slopes = choose(
        moved, (trial, value, gradient), (search.point, search.value, search.gradient)
    )
    direction = -_inverse_hessian(slopes, moves, turns, curvatures)
    slope = jnp.vdot(slopes, direction)
    known = jnp.any(curvatures > 0) & (slope < 0)
    direction = jnp.where(known, direction, -slopes)
    slope = jnp.where(known, slope, -jnp.vdot(slopes, slopes))
    size = jnp.sqrt(jnp.vdot(slopes, slopes))
    length = jnp.where(known, 1.0, jnp.minimum(1.0, 0.1 / jnp.maximum(size, 1e-30)))
    zero = jnp.zeros_like(value)
    next_line = Line(
        direction, slope, length.astype(value.dtype), zero, lowest, slope, zero + jnp.inf, zero
    )
    over = search.over | (failed & ~had) | (slope == 0)
    return Search(point, lowest, slopes, next_line, moves, turns, curvatures, over)


def _inverse_hessian(
    vector: Array, moves: Array, turns: Array, curvatures: Array
) -> Float[Array, " n"]:
    """The product of L-BFGS's inverse Hessian with a vector, in two passes over the memory."""
    known = curvatures > 0
    inverse = jnp.where(known, 1 / jnp.where(known, curvatures, 1), 0)
    places = range(len(curvatures))
    factors: list[Array] = []
    for i in reversed(places):
        factor = inverse[i] * jnp.vdot(moves[i], vector)
        vector = vector - factor * turns[i]
        factors.insert(0, factor)
    size = jnp.vdot(turns[-1], turns[-1])
    vector = vector * jnp.where(known[-1], curvatures[-1] / jnp.where(known[-1], size, 1), 1)
    for i in places:
        vector = vector + (factors[i] - inverse[i] * jnp.vdot(turns[i], vector)) * moves[i]
    return vector


def choose(condition: Array, one: Any, other: Any) -> Any:
    """One of two trees."""
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), one, other)
