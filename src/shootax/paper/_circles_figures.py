"""Figures of the rate at which training succeeds, with 95 % intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shootax.paper._results import Drawn, Results, Run
from shootax.plots import INK, new_figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")


def figures(results: Results) -> Drawn:
    """The names of the figures, each with a function that draws it."""
    yield "success", lambda: success_figure(results)


def needed(results: Results) -> list[Run]:
    """The runs whose models the figures need: none."""
    return []


def wilson(successes: int, runs: int, z: float = 1.959964) -> tuple[float, float]:
    """Wilson's 95 % interval for a rate."""
    rate = successes / runs
    middle = (rate + z**2 / (2 * runs)) / (1 + z**2 / runs)
    half = z / (1 + z**2 / runs) * np.sqrt(rate * (1 - rate) / runs + z**2 / (4 * runs**2))
    return float(max(0.0, middle - half)), float(min(1.0, middle + half))


def rates(results: Results, weight: float) -> list[tuple[int, int, int]]:
    """For each inflation factor: the factor, the successes, and the runs. Divergence is no success."""
    out = []
    for inflation in sorted(results.settings.inflations):
        runs = [
            run
            for run in results.runs
            if run["inflation"] == inflation and run["data_weight"] == weight
        ]
        out.append((inflation, sum(bool(run.get("success")) for run in runs), len(runs)))
    return [each for each in out if each[2]]


def success_figure(results: Results):
    """Draw a line for each weight of the classification loss."""
    figure, axes = new_figure(1, 1, 3.6, 2.7)
    _draw_rates(axes[0, 0], results)
    return figure


def recipes_figure(recipes: Sequence[Results]):
    """Draw the rates under several recipes side by side."""
    figure, axes = new_figure(1, len(recipes), 3.2 * len(recipes), 2.7)
    for axis, results in zip(axes[0], recipes, strict=True):
        _draw_rates(axis, results)
        axis.set_title(f"recipe “{results.settings.recipe}”", fontsize=9)
        if axis is not axes[0, 0]:
            axis.set_ylabel("")
            axis.get_legend().remove()
    return figure


def _draw_rates(axis: Any, results: Results) -> None:
    weights = results.settings.options["data_weights"]
    for i, (weight, colour) in enumerate(zip(weights, COLOURS, strict=False)):
        counted = rates(results, weight)
        place = np.arange(len(counted)) + 0.06 * (i - (len(weights) - 1) / 2)
        share = np.array([k / n for _, k, n in counted])
        ends = np.array([wilson(k, n) for _, k, n in counted])
        axis.errorbar(
            place,
            100 * share,
            100 * np.abs(ends.T - share),
            color=colour,
            marker="os^D"[i % 4],
            capsize=3,
            lw=1.2,
            label=f"{weight:g}",
        )
        axis.set_xticks(range(len(counted)), [str(a) for a, _, _ in counted])
    axis.set(xlabel="inflation factor α", ylabel="training data fit perfectly, %", ylim=(-4, 104))
    axis.legend(
        title="weight of the classification loss", fontsize=8, title_fontsize=8, frameon=False
    )
    axis.tick_params(colors=INK)
