"""Box plots of the four formulations against the inflation factor."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shootax.paper._results import Results, quartiles, without_outliers
from shootax.plots import COLOURS, INK, new_figure

COMPLEXITY = ("complexity_log2_frobenius", "∫ log₂ ‖θ‖² dt", False)


def box_figure(results: Results, panels: Sequence[tuple[str, str, bool]], title: str):
    """Draw a panel for each `(entry, label, logarithmic)`.

    Outliers are removed. `*n` shows their number, and `†n` the number of runs that diverged.
    """
    figure, axes = new_figure(1, len(panels), 3.6 * len(panels), 2.9)
    for axis, panel in zip(axes[0], panels, strict=True):
        _draw_boxes(axis, results, *panel)
    _legend(figure, [results])
    figure.suptitle(title, fontsize=10)
    return figure


def recipes_figure(recipes: Sequence[Results], panels: Sequence[tuple[str, str, bool]], title: str):
    """Draw the panels of `box_figure` in a column for each recipe, with shared scales."""
    figure, axes = new_figure(len(panels), len(recipes), 3.2 * len(recipes), 2.5 * len(panels))
    for row, panel in zip(axes, panels, strict=True):
        for axis, results in zip(row, recipes, strict=True):
            if axis is not row[0]:
                axis.sharey(row[0])
            _draw_boxes(axis, results, *panel)
            if axis is not row[0]:
                axis.set_ylabel("")
    for axis, results in zip(axes[0], recipes, strict=True):
        axis.set_title(f"recipe “{results.settings.recipe}”", fontsize=9)
    _legend(figure, recipes)
    figure.suptitle(title, fontsize=10)
    return figure


def _draw_boxes(axis: Any, results: Results, entry: str, label: str, logarithmic: bool) -> None:
    if logarithmic:
        axis.set_yscale("log")
    formulations = [name for name in COLOURS if name in results.settings.formulations]
    inflations = sorted(results.settings.inflations)
    for i, name in enumerate(formulations):
        for j, inflation in enumerate(inflations):
            values = results.values(
                entry,
                formulation=name,
                inflation=inflation,
                particles=results.particles_of(name),
            )
            place = j + (i - (len(formulations) - 1) / 2) * 0.2
            _box(axis, place, values, COLOURS[name], _lost(results, name, inflation))
    axis.set_xticks(range(len(inflations)), [str(a) for a in inflations])
    axis.set(xlabel="inflation factor α", ylabel=label, xlim=(-0.6, len(inflations) - 0.4))
    axis.grid(axis="y", lw=0.4, alpha=0.5)


def _legend(figure: Any, recipes: Sequence[Results]) -> None:
    from matplotlib.patches import Patch

    shown = {name for results in recipes for name in results.settings.formulations}
    names: list[Any] = [Patch(color=COLOURS[name], label=name) for name in COLOURS if name in shown]
    figure.legend(
        handles=names, loc="outside lower center", ncols=len(names), fontsize=8, frameon=False
    )


def _lost(results: Results, name: str, inflation: int) -> int:
    wanted = {
        "formulation": name,
        "inflation": inflation,
        "particles": results.particles_of(name),
    }
    same = [run for run in results.runs if all(run[key] == wanted[key] for key in wanted)]
    return sum(run["status"] != "ok" for run in same)


def _box(axis: Any, place: float, values: np.ndarray, colour: str, lost: int) -> None:
    kept, removed = without_outliers(values)
    if len(kept) == 0:
        return
    low, middle, high = quartiles(values)
    stats = {
        "med": middle,
        "q1": low,
        "q3": high,
        "whislo": kept.min(),
        "whishi": kept.max(),
        "fliers": [],
    }
    line = {"color": INK, "linewidth": 0.7}
    axis.bxp(
        [stats],
        positions=[place],
        widths=0.16,
        showfliers=False,
        patch_artist=True,
        boxprops={"facecolor": colour, "edgecolor": INK, "linewidth": 0.5},
        medianprops={"color": INK, "linewidth": 1.2},
        whiskerprops=line,
        capprops=line,
        manage_ticks=False,
    )
    marks = (f"*{removed}" if removed else "") + (f"†{lost}" if lost else "")
    if marks:
        axis.annotate(
            marks,
            (place, kept.max()),
            textcoords="offset points",
            xytext=(0, 2),
            ha="center",
            fontsize=7,
            color=INK,
        )
