"""Intervals over seeds, and comparisons of formulations at equal training loss."""

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
    """The interval of the mean of these values. For a single value, it is unbounded."""
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
    """Interpolate the entries of each formulation at a common training loss.

    The common loss is the smallest training loss that all formulations reach, the largest of their
    minima. The runs of each formulation are ordered by training loss, and interpolated linearly in
    logarithms.

    **Arguments:**

    - `paths`: for each formulation, the runs of one seed with all strengths of the data term.
    - `entries`: the entries to compare, which must be positive.

    **Returns:** the common loss and the entries of each formulation, or `None` if a formulation has no
    runs, or if all its runs are below the common loss.
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
