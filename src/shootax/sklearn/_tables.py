"""Rows of a table on their way into training: merged, split, and filled up to a common size."""

from typing import Any, NamedTuple

import jax
import numpy as np


class Rows(NamedTuple):
    """Inputs, targets, weights, and, for rows that are asked for trajectories, times."""

    x: np.ndarray
    y: Any
    weight: np.ndarray
    times: np.ndarray | None = None

    def take(self, index: np.ndarray) -> "Rows":
        return jax.tree.map(lambda part: part[index], self)

    def filled(self, rows: int, columns: int) -> "Rows":
        """With zeros after all rows, and after all columns of the inputs."""
        longer = jax.tree.map(lambda part: filled(part, rows), self)
        return longer._replace(x=filled(longer.x, columns, axis=1))


def merged(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Rows:
    """Each different row once, with the sum of its weights, in an order that is that of the values.

    So a row of weight two is the same as two rows, and one of weight zero the same as none, to the
    last bit; and copies of a row are never on both sides of a validation split.
    """
    real = weight > 0
    x, y, weight = x[real], y[real], weight[real]
    targets = y.reshape(len(y), -1).astype(np.float64)
    _, first, group = np.unique(
        np.concatenate([x.astype(np.float64), targets], axis=1),
        axis=0,
        return_index=True,
        return_inverse=True,
    )
    sums = np.bincount(group.reshape(-1), weights=weight, minlength=len(first))
    return Rows(x[first], y[first], sums)


def split(
    rows: Rows, fraction: float, classes: bool, rng: np.random.Generator
) -> tuple[Rows, Rows | None]:
    """Rows for training, and those held out; `None` if there are too few to hold any out.

    With `classes`, targets are class numbers: every class is held out in its share, and none loses
    its last row.
    """
    count = len(rows.x)
    if round(count * fraction) < SMALLEST_HELD_OUT:
        return rows, None
    groups = [np.arange(count)]
    if classes:
        groups = [np.flatnonzero(rows.y == label) for label in np.unique(rows.y)]
    sizes = [min(round(len(group) * fraction), len(group) - 1) for group in groups]
    pairs = zip(groups, sizes, strict=True)
    held = np.concatenate([rng.permutation(group)[:size] for group, size in pairs])
    if len(held) == 0:
        return rows, None
    out = np.isin(np.arange(count), held)
    return rows.take(~out), rows.take(out)


# A loss over fewer rows than this says too little about when to stop.
SMALLEST_HELD_OUT = 5


def power_of_two(number: int, least: int) -> int:
    """The first of `least`, twice, four times `least`, ... that is not below `number`."""
    size = least
    while size < number:
        size *= 2
    return size


def filled(array: np.ndarray, size: int, axis: int = 0) -> np.ndarray:
    """The array with zeros after it, up to a size along an axis."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, size - array.shape[axis])
    return np.pad(array, widths)
