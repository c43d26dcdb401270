"""Intervals over seeds, and formulations compared at equal training loss."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import t as student

Run = Mapping[str, Any]


class Interval(NamedTuple):
    """A mean over seeds with its 95 % confidence interval (Student's t)."""

    mean: float
    low: float
    high: float
    seeds: int

    @property
    def text(self) -> str:
        return f"{self.mean:.3g} ({self.low:.3g} to {self.high:.3g})" if self.seeds else "–"

    @property
    def excludes_zero(self) -> bool:
        return self.low > 0 or self.high < 0


def interval(values: Sequence[float]) -> Interval:
    """The interval of the mean of these values; the whole line for a single one."""
    array = np.asarray([value for value in values if value is not None], float)
    array = array[np.isfinite(array)]
    n = len(array)
    if n == 0:
        return Interval(np.nan, -np.inf, np.inf, 0)
    if n == 1:
        return Interval(float(array[0]), -np.inf, np.inf, 1)
    half = float(student.ppf(0.975, n - 1) * array.std(ddof=1) / np.sqrt(n))
    mean = float(array.mean())
    return Interval(mean, mean - half, mean + half, n)


def at_equal_loss(
    paths: Mapping[str, Sequence[Run]], entries: Sequence[str]
) -> tuple[float, dict[str, dict[str, float]]] | None:
    """The entries of each formulation where their training losses are equal.

    **Arguments:** `paths`, for each formulation the runs of one seed with all strengths of the data
    term; and the `entries` to compare, which must be positive.

    The level is the smallest training loss that all of them reach: the largest of their smallest ones.
    Along its path, ordered by training loss, each formulation is interpolated linearly in logarithms.
    `None` if one has nothing at that level, because all of its runs are below.
    """
    curves = {name: sorted(runs, key=lambda run: run["train_loss"]) for name, runs in paths.items()}
    if not curves or any(not runs for runs in curves.values()):
        return None
    level = max(runs[0]["train_loss"] for runs in curves.values())
    if any(runs[-1]["train_loss"] < level for runs in curves.values()):
        return None
    out = {}
    for name, runs in curves.items():
        losses = np.log([run["train_loss"] for run in runs])
        out[name] = {
            entry: float(np.exp(np.interp(np.log(level), losses, np.log([r[entry] for r in runs]))))
            for entry in entries
        }
    return level, out
