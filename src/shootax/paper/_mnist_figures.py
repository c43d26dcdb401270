"""Figures of the error of MNIST classifiers against their number of parameters, and of training."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from shootax import load_record
from shootax.paper._published import MNIST_ERRORS
from shootax.paper._results import Drawn, Results, Run, model_path
from shootax.plots import COLOURS, new_figure

NAMES = {
    "dynamic-particles": "shooting (dynamic, particles)",
    "static-particles": "static, particles",
    "dynamic-direct": "free layers",
    "static-direct": "one free layer, repeated",
}
HEADLINE = "dynamic-particles"


def figures(results: Results) -> Drawn:
    """The names of the figures, each with a function that draws it."""
    if results.where():
        yield "accuracy", lambda: accuracy_figure(results)
        yield "training", lambda: training_figure(results)


def needed(results: Results) -> list[Run]:
    """The runs whose models are kept: all shooting runs, and the first run of every other network."""
    return [run for run in results.where() if run["formulation"] == HEADLINE or run["seed"] == 0]


def networks(results: Results) -> Iterator[tuple[Run, list[Run]]]:
    """The description and the successful runs of each network, in order of size."""
    keys = ("formulation", "channels", "particles", "blocks", "passed")
    groups: dict[tuple[Any, ...], list[Run]] = {}
    for run in results.where():
        groups.setdefault(tuple(run[key] for key in keys), []).append(run)
    order = list(NAMES)
    for key in sorted(groups, key=lambda k: (order.index(k[0]), groups[k][0]["parameters"])):
        yield dict(zip(keys, key, strict=True)), groups[key]


def table(results: Results) -> str:
    """Format a line for each network: means over seeds, with the lowest and highest values."""
    heads = ["layers from", "channels", "K", "blocks", "parameters", "seeds", "test accuracy, %"]
    heads += ["validation, %", "penalty ∫R", "processor min per run"]
    lines = ["| " + " | ".join(heads) + " |", "|---|" + "---:|" * (len(heads) - 1)]
    for network, runs in networks(results):
        name = NAMES[network["formulation"]] + (", passed on" if network["passed"] else "")
        minutes = [run["processor_seconds"] / 60 for run in runs if run.get("processor_seconds")]
        cells = [name, network["channels"], network["particles"] or "–", network["blocks"]]
        cells += [f"{runs[0]['parameters']:,}", len(runs), _percent(runs, "test_accuracy")]
        cells += [_percent(runs, "validation_accuracy")]
        cells += [f"{np.mean([run['penalty'] for run in runs]):.3g}"]
        cells += [f"{np.mean(minutes):.1f}" if minutes else "–"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def _percent(runs: list[Run], entry: str) -> str:
    values = 100 * np.array([run[entry] for run in runs])
    if len(values) == 1:
        return f"{values[0]:.2f}"
    return f"{values.mean():.2f} ({values.min():.2f}–{values.max():.2f})"


def accuracy_figure(results: Results) -> Any:
    """Draw test error against parameters: a line for each formulation, crosses for published models."""
    figure, axes = new_figure(1, 1, 5.2, 3.6)
    axis = axes[0, 0]
    found = list(networks(results))
    for name, label in NAMES.items():
        own = [(n, runs) for n, runs in found if n["formulation"] == name and n["blocks"] == 1]
        if own:
            _line(axis, [runs for _, runs in own], color=COLOURS[name], marker="o", label=label)
    for passed, marker in ((True, "^"), (False, "v")):
        own = [r for n, r in found if n["formulation"] == HEADLINE and n["blocks"] == 2
               and n["passed"] == passed]  # fmt: skip
        label = "two blocks, particles passed on" if passed else "two blocks, particles fresh"
        if own:
            _line(axis, own, color=COLOURS[HEADLINE], marker=marker, mfc="w", ls=":", label=label)
    for name, (parameters, error) in MNIST_ERRORS.items():
        axis.plot(parameters, error, "x", color="0.4")
        axis.annotate(name, (parameters, error), xytext=(4, 2), textcoords="offset points",
                      fontsize=6, color="0.4")  # fmt: skip
    axis.set(xscale="log", yscale="log", xlabel="parameters", ylabel="test error, %")
    ticks = (0.4, 0.6, 1.0, 2.0, 4.0)
    axis.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    sizes = (5, 10, 20, 50, 100, 200, 500)
    axis.set_xticks([1000 * size for size in sizes], [f"{size} k" for size in sizes])
    axis.set_xlim(4_000, 1_500_000)
    axis.minorticks_off()
    axis.legend(fontsize=7, frameon=False)
    return figure


def _line(axis: Any, groups: list[list[Run]], **look: Any) -> None:
    errors = [100 * np.array([run["test_error"] for run in runs]) for runs in groups]
    means = np.array([each.mean() for each in errors])
    ends = np.array([[m - e.min(), e.max() - m] for m, e in zip(means, errors, strict=True)])
    parameters = [runs[0]["parameters"] for runs in groups]
    axis.errorbar(parameters, means, ends.T, capsize=3, lw=1.2, ms=4, **look)


def training_figure(results: Results) -> Any:
    """Draw the validation loss by epoch, for the first seed of every network."""
    figure, axes = new_figure(1, 1, 4.6, 3.2)
    shown: set[str] = set()
    for network, runs in networks(results):
        record = load_record(model_path(results.folder, runs[0]))
        losses = record["history"]["validation"]
        name = network["formulation"]
        label = None if name in shown else NAMES[name]
        shown.add(name)
        width = 0.5 + network["channels"] / 16
        epochs = np.arange(1, len(losses) + 1)
        axes[0, 0].plot(epochs, losses, color=COLOURS[name], lw=width, label=label)
    axes[0, 0].set(yscale="log", xlabel="epoch", ylabel="loss on validation images")
    axes[0, 0].legend(fontsize=7, frameon=False, title="wider: more channels", title_fontsize=7)
    return figure
