"""The numbers in figures and tables."""

import numpy as np
import scipy.stats

from shootax.paper._boxes import _box
from shootax.paper._circles_figures import wilson
from shootax.paper._results import without_outliers
from shootax.paper._sequences import INPUT, TARGET, sequence_figure


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


def test_what_a_box_leaves_out_is_counted():
    import matplotlib.pyplot as plt

    values = np.array([1.0, 1.1, 1.2, 1.3, 9.0])
    for given, lost, marks in ((values, 2, ["*1†2"]), (values[:4], 3, ["†3"]), (values[:4], 0, [])):
        figure, axis = plt.subplots()
        _box(axis, 0.0, given, "red", lost)
        assert [text.get_text() for text in axis.texts] == marks
        plt.close(figure)


def test_frames_that_are_seen_and_asked_for():
    from matplotlib.colors import to_hex

    truth = np.zeros((1, 4, 2, 2))
    figure = sequence_figure(truth, {"net": truth}, seen=2, tested=(3,))

    def frames(line):
        spines = [axis.spines["left"] for axis in figure.axes[4 * line : 4 * line + 4]]
        return [to_hex(s.get_edgecolor()).upper() if s.get_visible() else None for s in spines]

    assert frames(0) == [INPUT, INPUT, None, TARGET]
    assert frames(1) == [None, None, None, TARGET]
