"""Paired comparisons over seeds: an estimate, its interval, a test, and a multiple-test correction."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import stats


def pseudomedian(differences: np.ndarray, level: float = 0.95) -> tuple[float, float, float]:
    """The Hodges-Lehmann estimate of the centre of paired differences, and its interval.

    Both are order statistics of the means of all pairs of differences, so they are robust against
    outliers. The interval inverts the exact Wilcoxon signed-rank test.
    """
    n = len(differences)
    first, second = np.triu_indices(n)
    means = np.sort((differences[first] + differences[second]) / 2)
    below = np.cumsum(_signed_rank_counts(n)) / 2.0**n
    outside = int(np.searchsorted(below, (1 - level) / 2, side="right"))
    # With few pairs, no interval has this level. It then contains all means, and covers a little less.
    outside = max(outside, 1)
    return float(np.median(means)), float(means[outside - 1]), float(means[-outside])


def _signed_rank_counts(n: int) -> np.ndarray:
    """For each sum of positive ranks, the number of the $2^n$ sign patterns of the ranks 1 … n."""
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[:-rank]
    return counts


def paired_p(differences: np.ndarray) -> float:
    """The p value of the two-sided Wilcoxon signed-rank test that differences are symmetric about 0."""
    if not np.any(differences):
        return 1.0
    test: Any = stats.wilcoxon(differences)
    return float(test.pvalue)


def discordant_p(differences: np.ndarray) -> float:
    """The p value of the exact two-sided sign test (McNemar's) for pairs of binary outcomes."""
    up, down = int(np.sum(differences > 0)), int(np.sum(differences < 0))
    return 1.0 if up + down == 0 else float(stats.binomtest(up, up + down).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p values for their number by Holm's method."""
    order = np.argsort(p_values)
    corrected, largest = np.empty(len(p_values)), 0.0
    for place, i in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[i]))
        corrected[i] = largest
    return corrected.tolist()
