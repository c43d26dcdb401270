"""The numbers in figures and tables."""

import numpy as np
import scipy.stats

from shootax.paper._circles_figures import wilson
from shootax.paper._results import without_outliers


def test_outliers_are_those_of_a_box_plot():
    from matplotlib.cbook import boxplot_stats

    generator = np.random.default_rng(0)
    for _ in range(20):
        values = generator.standard_t(2, size=15)
        kept, removed = without_outliers(values)
        (stats,) = boxplot_stats(values, whis=1.5)
        assert removed == len(stats["fliers"])
        assert (kept.min(), kept.max()) == (stats["whislo"], stats["whishi"])


def test_interval_is_wilson_s():
    for successes, runs in ((0, 50), (25, 50), (49, 50), (50, 50)):
        theirs = scipy.stats.binomtest(successes, runs).proportion_ci(0.95, "wilson")
        np.testing.assert_allclose(wilson(successes, runs), tuple(theirs), atol=1e-7)
