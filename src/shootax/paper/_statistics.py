"""Paired comparisons over seeds: an estimate, its interval, a test, and a correction for many tests."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats


def pseudomedian(differences: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """The Hodges-Lehmann estimate of the middle of paired differences, and its interval.

    Both are order statistics of the means of all pairs of differences, so one wild run does not move
    them far. The interval inverts the exact Wilcoxon signed-rank test.
    """
    n = len(differences)
    first, second = np.triu_indices(n)
    means = np.sort((differences[first] + differences[second]) / 2)
    below = np.cumsum(_signed_rank_counts(n)) / 2.0**n
    outside = int(np.searchsorted(below, (1 - level) / 2, side="right"))
    # Few pairs allow no interval of this level: then it is all means, and covers a little less.
    outside = max(outside, 1)
    return float(np.median(means)), float(means[outside - 1]), float(means[-outside])


def _signed_rank_counts(n: int) -> np.ndarray:
    """How many of the $2^n$ signs give the ranks 1 … n each sum of positive ranks."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    return counts


def paired_p(differences: np.ndarray) -> float:
    """The two-sided Wilcoxon signed-rank test that paired differences lie evenly about zero."""
    if not np.any(differences):
        return 1.0
    test: Any = stats.wilcoxon(differences)
    return float(test.pvalue)


def discordant_p(differences: np.ndarray) -> float:
    """The exact two-sided sign test (McNemar's) for pairs of yes and no."""
    up, down = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    return 1.0 if up + down == 0 else float(stats.binomtest(up, up + down).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """The p values corrected for their number, by Holm's method."""
    order = np.argsort(p_values)
    corrected, largest = np.empty(len(p_values)), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected.tolist()
