"""The figures of the open questions."""

from typing import Any

import numpy as np

from shootax.paper._questions.comparison import (
    ENTRIES,
    REFERENCE,
    column,
    compared,
    energy_table,
    formulation_table,
    lowest_energy,
    network_table,
    networks,
)
from shootax.paper._results import Drawn, Results, Run
from shootax.plots import COLOURS, new_figure

PAIR = ("#0072B2", "#D55E00")
KINDS = {"weights": "by weights", "outputs": "by outputs", "tuned": "fine-tuned"}


def figures(results: Results) -> Drawn:
    """The names of the figures, each with a function that draws it."""
    name = results.settings.experiment
    if not results.where():
        return
    if name == "questions-data":
        yield "energy", lambda: energy_figure(results)
    elif name == "questions-networks":
        yield "networks", lambda: networks_figure(results)
    else:
        yield "formulations", lambda: formulations_figure(results)


def needed(results: Results) -> list[Run]:
    """The runs whose models the figures need: none."""
    return []


def table(results: Results) -> str:
    """Format the table of an experiment as Markdown."""
    kinds = {"questions-data": energy_table, "questions-networks": network_table}
    return kinds.get(results.settings.experiment, formulation_table)(results)


def energy_figure(results: Results) -> Any:
    """Draw by how much the energy exceeds the lowest known energy, against the number of particles."""
    tasks = results.settings.options["tasks"]
    figure, axes = new_figure(1, len(tasks), 3.4 * len(tasks), 2.9)
    for axis, task in zip(axes[0], tasks, strict=True):
        best = lowest_energy(results, task)
        for positions, colour in zip(("data", "trained"), PAIR, strict=True):
            runs = results.where(task=task, positions=positions)
            counts = sorted({run["particles"] for run in runs})
            every = [[r["energy"] / best - 1 for r in runs if r["particles"] == k] for k in counts]
            low, middle, high = (
                np.array([np.quantile(v, q) for v in every]) for q in (0.25, 0.5, 0.75)
            )
            axis.errorbar(
                counts,
                100 * middle,
                100 * np.stack([middle - low, high - middle]),
                color=colour,
                marker="o",
                capsize=3,
                lw=1.2,
                label={"data": "fixed on data", "trained": "trained"}[positions],
            )
        for positions, style in (("none", ":"), ("costates", "--")):
            found = results.values("energy", task=task, positions=positions)
            if len(found):
                label = {"none": "free weights", "costates": "K = n from costates"}[positions]
                height = 100 * (np.median(found) / best - 1)
                axis.axhline(height, color="0.4", ls=style, lw=1, label=label)
        axis.set(xscale="log", yscale="symlog", xlabel="particles K", title=task, ylim=(0, None))
        axis.set_xticks(counts, [str(k) for k in counts])
    axes[0, 0].set_ylabel("energy above the lowest, %")
    axes[0, 0].legend(fontsize=7, frameon=False)
    return figure


def networks_figure(results: Results) -> Any:
    """Draw errors of weights and outputs, and test errors, against the number of particles."""
    found = list(networks(results))
    tasks = list(dict.fromkeys(key[0] for key, _ in found))
    figure, axes = new_figure(2, len(tasks), 3.0 * len(tasks), 4.8)
    counts = np.array(results.settings.particles)
    for (task, depth, weight), runs in found:
        i = tasks.index(task)
        style = "-" if weight else "--"
        label = f"depth {depth}, {'with' if weight else 'no'} penalty"
        shade = PAIR[results.settings.options["depths"].index(depth) % 2]
        for row, name in ((0, "weights_error"), (1, "outputs_test_error")):
            values = [np.median(column(runs, name, k)) for k in range(len(counts))]
            axes[row, i].plot(counts, values, style, color=shade, marker="o", ms=3, label=label)
        bound = [np.median(column(runs, "bound", k)) for k in range(len(counts))]
        axes[0, i].plot(counts, bound, ":", color=shade, lw=0.8)
        own = np.median([run["test_error"] for run in runs])
        axes[1, i].axhline(own, color=shade, ls=style, lw=0.5)
        axes[0, i].set_title(task, fontsize=9)
    for axis in axes.ravel():
        axis.set(xscale="log", xlabel="particles K")
        axis.set_xticks(counts, [str(k) for k in counts])
    axes[0, 0].set_ylabel("relative error of θ(t);\ndotted: rank bound")
    axes[1, 0].set_ylabel("test error, matched outputs;\nlevel: the network")
    axes[0, 0].legend(fontsize=6, frameon=False)
    return figure


def formulations_figure(results: Results) -> Any:
    """Draw ratios to `dynamic-particles` at equal training loss."""
    rows = list(compared(results))
    figure, axes = new_figure(1, len(ENTRIES), 2.6 * len(ENTRIES), 0.9 + 0.42 * len(rows))
    titles = ("test loss", "energy ∫R", "Lipschitz bound", "Rademacher bound")
    names = [name for name in results.settings.formulations if name != REFERENCE]
    for axis, entry, title in zip(axes[0], ENTRIES, titles, strict=True):
        for j, (_, found) in enumerate(rows):
            for i, name in enumerate(names):
                at = found[name][entry]
                if not at.seeds:
                    continue
                mean, low, high = np.exp(np.clip(at[:3], -20, 20))
                axis.errorbar(
                    [mean],
                    [j + 0.2 * (i - 1)],
                    xerr=[[mean - low], [high - mean]],
                    color=COLOURS[name],
                    marker="o",
                    ms=3,
                    capsize=2,
                    lw=1,
                    label=name if j == 0 else None,
                )
        axis.axvline(1, color="0.4", lw=0.8)
        axis.set(xscale="log", xlabel="ratio", ylim=(len(rows) - 0.5, -0.5))
        axis.minorticks_off()
        axis.xaxis.set_major_formatter("{x:g}")
        axis.set_title(title, fontsize=9)
        axis.set_yticks([])
    labels = [f"{task}, n = {n}{', noise' if noise else ''}" for (task, n, noise), _ in rows]
    axes[0, 0].set_yticks(range(len(rows)), labels)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  fontsize=7, frameon=False)  # fmt: skip
    return figure
