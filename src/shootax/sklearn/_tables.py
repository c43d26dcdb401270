"""The samples of a table before training: merged, split, and padded to a common size."""

from typing import Any, NamedTuple

import jax
import numpy as np


class Samples(NamedTuple):
    """Inputs, targets, weights, and the times of trajectories, if any."""

    x: np.ndarray
    y: Any
    weight: np.ndarray
    times: np.ndarray | None = None

    def take(self, index: np.ndarray) -> "Samples":
        return jax.tree.map(lambda part: part[index], self)

    def filled(self, samples: int, columns: int) -> "Samples":
        """The samples padded with zeros to `samples` samples and `columns` columns of the inputs."""
        longer = jax.tree.map(lambda part: filled(part, samples), self)
        return longer._replace(x=filled(longer.x, columns, axis=1))


def merged(x: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Samples:
    """Each distinct sample once, with the sum of its weights, sorted by value.

    So a sample of weight two is equivalent to two equal samples, and one of weight zero to none, bit
    for bit. Copies of a sample are never on both sides of a validation split.
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
    return Samples(x[first], y[first], sums)


def joined(first: Samples, second: Samples) -> Samples:
    """Concatenate two sets of samples."""
    return jax.tree.map(lambda *parts: np.concatenate(parts), first, second)


def split(
    samples: Samples, fraction: float, classes: bool, rng: np.random.Generator
) -> tuple[Samples, Samples | None]:
    """Split samples into those for training and those held out, or `None` if there are too few.

    With `classes`, targets are class numbers. The held-out fraction is then the same for every class,
    and no class loses its last sample.
    """
    count = len(samples.x)
    if round(count * fraction) < SMALLEST_HELD_OUT:
        return samples, None
    groups = [np.arange(count)]
    if classes:
        groups = [np.flatnonzero(samples.y == label) for label in np.unique(samples.y)]
    sizes = [min(round(len(group) * fraction), len(group) - 1) for group in groups]
    pairs = zip(groups, sizes, strict=True)
    held = np.concatenate([rng.permutation(group)[:size] for group, size in pairs])
    if len(held) == 0:
        return samples, None
    out = np.isin(np.arange(count), held)
    return samples.take(~out), samples.take(out)


# A loss over fewer samples is too noisy to decide when to stop.
SMALLEST_HELD_OUT = 5


def power_of_two(number: int, least: int) -> int:
    """The smallest of `least`, `2 * least`, `4 * least`, … that is at least `number`."""
    size = least
    while size < number:
        size *= 2
    return size


def filled(array: np.ndarray, size: int, axis: int = 0) -> np.ndarray:
    """Pad an array with zeros at its end to a size along an axis."""
    widths = [(0, 0)] * array.ndim
    widths[axis] = (0, size - array.shape[axis])
    return np.pad(array, widths)
