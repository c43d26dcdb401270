"""Whether an inferred block field has the velocities of the field it stands for."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from shootax import _jaxpr as core
from shootax._fields.base import AbstractField, size
from shootax._fields.block import AbstractBlockField
from shootax._fields.host import run
from shootax._fields.probing import draw, flat, samplers

POINTS = 2
"""The number of points at which each entry of the velocity is compared."""


class Placed(NamedTuple):
    """A block: `scale` times the entries `weights` of a leaf of the user's θ."""

    block: str
    leaf: int
    weights: np.ndarray
    scale: float


def agrees(field: AbstractField, inferred: AbstractBlockField, placed: list[Placed]) -> bool:
    """Whether velocities, and their derivatives along random directions of the state, agree at random
    points. Entries that are finite at no point do not agree."""
    dtype = jnp.result_type(float)
    theirs, ours = _with_derivative(field, dtype), _with_derivative(inferred, dtype)
    rng = np.random.default_rng(0)
    tolerance = float(jnp.finfo(dtype).eps) ** 0.6
    seen = np.zeros(size(field.state), int)
    for sample in samplers(POINTS, 2):
        z, theta = draw(field.state, sample, rng), draw(field.theta, sample, rng)
        direction = draw(field.state, sample, rng)
        wanted = _lines(run(theirs, [*z, *direction, *theta]))
        vectors = [np.concatenate([leaf.ravel() for leaf in leaves]) for leaves in (z, direction)]
        got = _lines(run(ours, [*vectors, *_blocks(inferred, theta, placed)]))
        finite = np.isfinite(wanted)
        if not _close(got, wanted, finite, tolerance):
            return False
        seen += finite.all(axis=0)
        if seen.min() >= POINTS:
            return True
    return bool(seen.min() > 0)


def _with_derivative(field: AbstractField, dtype: Any) -> core.ClosedJaxpr:
    """The program of the velocity and of its derivative along a direction of the state."""

    def function(z: Any, direction: Any, theta: Any) -> Any:
        return jax.jvp(lambda z: field(z, theta), (z,), (direction,))

    z, theta = (
        jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), tree)
        for tree in (field.state, field.theta)
    )
    return jax.make_jaxpr(function)(z, z, theta)


def _lines(out: list[np.ndarray]) -> np.ndarray:
    """The velocity and its derivative, as two rows."""
    half = len(out) // 2
    return np.stack([flat(out[:half]), flat(out[half:])])


def _close(got: np.ndarray, wanted: np.ndarray, finite: np.ndarray, tolerance: float) -> bool:
    if not (np.isfinite(got) == finite).all():
        return False
    got, wanted = (np.where(finite, lines, 0) for lines in (got, wanted))
    largest = np.abs(wanted).max(axis=1, initial=0, keepdims=True)
    return bool((np.abs(got - wanted) <= tolerance * largest).all())


def _blocks(
    inferred: AbstractBlockField, theta: list[np.ndarray], placed: list[Placed]
) -> list[np.ndarray]:
    """θ by blocks, in the order of the leaves of a tree."""
    shapes = inferred.theta
    out = {
        block: (theta[leaf].ravel()[weights] * scale).reshape(shapes[block].shape)
        for block, leaf, weights, scale in placed
    }
    return jax.tree.leaves(out)
