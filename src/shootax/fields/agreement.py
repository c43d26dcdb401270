"""Whether an inferred block field has the velocities of the field it stands for."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax.fields.base import AbstractField
from shootax.fields.block import AbstractBlockField
from shootax.fields.probing import draw, flat, samplers

POINTS = 2
"""At how many points each entry of the velocity is compared."""


class Placed(NamedTuple):
    """A block: `scale` times the entries `weights` of a leaf of the user's θ."""

    block: str
    leaf: int
    weights: np.ndarray
    scale: float


def agrees(field: AbstractField, inferred: AbstractBlockField, placed: list[Placed]) -> bool:
    """Compares velocities, and their derivatives along random directions of the state, at random
    points. Entries that are finite at no point do not agree.

    The fields are evaluated operation by operation, outside of any trace: nothing is compiled as a
    whole, and much of it has been compiled by [`shootax.linearity`][] before.
    """
    rng = np.random.default_rng(0)
    tolerance = float(jnp.finfo(jnp.result_type(float)).eps) ** 0.6
    seen = None
    with jax.ensure_compile_time_eval(), jax.default_matmul_precision("highest"):
        for sample in samplers(POINTS, 2):
            z, theta = draw(field.state, sample, rng), draw(field.theta, sample, rng)
            direction = draw(field.state, sample, rng)
            wanted = _moved(lambda z, theta=theta: field(z, theta), z, direction)
            blocks = _blocks(inferred, theta, placed)
            vectors = (_vector(z), _vector(direction))
            got = _moved(lambda z, blocks=blocks: inferred(z, blocks), *vectors)
            finite = np.isfinite(wanted)
            if not _close(got, wanted, finite, tolerance):
                return False
            both = finite.all(axis=0)
            seen = both.astype(int) if seen is None else seen + both
            if seen.min() >= POINTS:
                return True
    return seen is not None and bool(seen.min() > 0)


def _moved(function: Any, z: Any, direction: Any) -> np.ndarray:
    """A velocity and its derivative, as two lines."""
    return np.stack([flat(out) for out in jax.jvp(function, (z,), (direction,))])


def _close(got: np.ndarray, wanted: np.ndarray, finite: np.ndarray, tolerance: float) -> bool:
    if not (np.isfinite(got) == finite).all():
        return False
    got, wanted = (np.where(finite, lines, 0) for lines in (got, wanted))
    size = np.abs(wanted).max(axis=1, initial=0, keepdims=True)
    return bool((np.abs(got - wanted) <= tolerance * size).all())


def _vector(tree: Any) -> Array:
    return jnp.concatenate([jnp.ravel(leaf) for leaf in jax.tree.leaves(tree)])


def _blocks(inferred: AbstractBlockField, theta: Any, placed: list[Placed]) -> dict[str, Array]:
    leaves = [np.asarray(leaf).ravel() for leaf in jax.tree.leaves(theta)]
    shapes = inferred.theta
    out = {}
    for block, leaf, weights, scale in placed:
        entries = leaves[leaf][weights] * leaves[leaf].dtype.type(scale)
        out[block] = jnp.asarray(entries.reshape(shapes[block].shape))
    return out
