"""Reproduce the experiments of the paper with one command."""

import pathlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from shootax import _checks as checks
from shootax.cli.text import say, show_table
from shootax.paper import (
    COLLECTIONS,
    EXPERIMENTS,
    PRESETS,
    draw_figures,
    make_settings,
    planned,
    reproduce,
)
from shootax.sweeps import AbstractEngine, LocalEngine, RayEngine, available_cores, duration


def run(
    name: str,
    preset: str,
    recipe: str,
    out: pathlib.Path | None,
    jobs: int | None,
    *,
    engine: str,
    address: str | None,
    gpus: float | None,
    retries: int | None,
    seeds: int | None,
    models: str | None,
    inflation: str | None,
    particles: str | None,
) -> None:
    """Train the models that are missing, print a table, and draw the figures.

    The name of a collection runs its experiments one after the other, each in its own folder below
    `out`. Raise a `RuntimeError` at the end if runs failed.
    """
    if name in COLLECTIONS:
        for part in COLLECTIONS[name]:
            folder = None if out is None else out / part
            run(
                part,
                preset,
                recipe,
                folder,
                jobs,
                engine=engine,
                address=address,
                gpus=gpus,
                retries=retries,
                seeds=seeds,
                models=models,
                inflation=inflation,
                particles=particles,
            )
        return
    experiment = EXPERIMENTS[checks.one_of(name, (*EXPERIMENTS, *COLLECTIONS), "experiment")]
    settings = make_settings(
        experiment,
        checks.one_of(preset, PRESETS, "preset"),
        recipe,
        seeds=None if seeds is None else checks.positive_integer(seeds, "--seeds"),
        formulations=_listed(models, str, "--models"),
        inflations=_listed(inflation, int, "--inflation"),
        particles=_listed(particles, int, "--particles"),
    )
    if out is None:
        end = "" if recipe == "paper" else f"-{recipe}"
        out = pathlib.Path("reproduce") / f"{name}-{preset}{end}"
    chosen = _engine(engine, jobs, address, gpus, retries)
    console = Console()
    runs = sum(len(group.seeds) for group in planned(experiment, settings))
    say(f"{name}, {preset}: {runs} runs in {out}", console)
    results = reproduce(experiment, settings, out, engine=chosen, console=console)
    show_table(summary_table(results), console)
    spent = sum(result.get("processor_seconds") or 0 for result in results)
    console.print(f"Training took {duration(spent)} of processor time.", highlight=False)
    paths, notes = draw_figures(out)
    for note in notes:
        say(note, console)
    figures = f"{len(paths)} figures in {out / 'figures'}"
    say(f"Written: {out / 'results.json'} and {figures}", console)
    failed = [result for result in results if result["status"] == "failed"]
    if failed:
        raise RuntimeError(
            f"{len(failed)} of {len(results)} runs failed; the first reason is: "
            f"{failed[0]['reason']} To repeat only the failed runs, run the same command again."
        )


def _engine(
    name: str, jobs: int | None, address: str | None, gpus: float | None, retries: int | None
) -> AbstractEngine:
    if checks.one_of(name, ("local", "ray"), "--engine") == "ray":
        if jobs is not None:
            raise ValueError(
                "--jobs is for --engine local; Ray runs as many groups as fit on the cluster."
            )
        return RayEngine(address, gpus=gpus or 0, retries=3 if retries is None else retries)
    if (address, gpus, retries) != (None, None, None):
        raise ValueError("--address, --gpus and --retries are for --engine ray.")
    return LocalEngine(jobs or len(available_cores()))


def show_list() -> None:
    """Print the list of experiments and collections."""
    console = Console()
    table = Table(box=SIMPLE, show_edge=False)
    for heading in ("name", "what it does", *PRESETS, "recipes"):
        table.add_column(heading)
    for experiment in EXPERIMENTS.values():
        times = [experiment.times[preset] for preset in PRESETS]
        table.add_row(experiment.name, experiment.about, *times, ", ".join(experiment.recipes))
    show_table(table, console)
    for name, parts in COLLECTIONS.items():
        say(f"{name}: {', '.join(parts)}, one after the other.", console)
    console.print("Times are estimates for 2 free cores.")


KEYS = (
    *("task", "depth", "samples", "noise", "positions", "penalty_weight", "data_weight"),
    *("channels", "blocks", "passed"),
)
"""Columns with settings of the training, in some experiments."""

MEASURED = {
    "test_mse": "MSE",
    "penalty": "R",
    "complexity_log2_frobenius": "complexity",
    "objective": "objective",
    "short_range_loss": "short",
    "long_range_loss": "long",
    "success": "success",
    "energy": "energy",
    "train_loss": "training",
    "test_loss": "test",
    "test_error": "error",
    "test_accuracy": "accuracy",
}
"""Columns with measurements, and their headings."""


def summary_table(results: Sequence[dict[str, Any]]) -> Table:
    """A table of medians over seeds, with a line for each configuration."""
    more = [key for key in KEYS if any(key in result for result in results)]
    asked = ["test_mse", "penalty", "complexity_log2_frobenius"]
    known = [name for name in MEASURED if any(result.get(name) is not None for result in results)]
    if "channels" in more:
        columns = ["parameters", "penalty", "test_accuracy"]
    else:
        columns = known if "task" in more else [*asked, *(n for n in known if n not in asked)]
    table = Table(title="Medians over seeds", box=SIMPLE, show_edge=False)
    names = {"data_weight": "weight", "penalty_weight": "penalty"}
    headings = [*(names.get(key, key) for key in more), "runs"]
    headings += [MEASURED.get(name, name) for name in columns]
    for heading in ("formulation", "α", "K", *headings):
        wide = heading == "formulation"
        table.add_column(heading, justify="left" if wide else "right", no_wrap=wide)
    groups: dict[tuple, list[dict[str, Any]]] = {}
    for result in results:
        keys = ("formulation", "inflation", "particles", *more)
        groups.setdefault(tuple(result.get(key) for key in keys), []).append(result)
    for key, members in sorted(groups.items(), key=lambda item: str(item[0][0])):
        good = [member for member in members if member["status"] == "ok"]
        values = [_median([member.get(column) for member in good]) for column in columns]
        cells = ["–" if part is None else str(part) for part in key]
        table.add_row(*cells, f"{len(good)}/{len(members)}", *values)
    return table


def _median(values: list[Any]) -> str:
    numbers = [float(value) for value in values if value is not None]
    if not numbers:
        return "–"
    if values and isinstance(values[0], bool):
        return f"{np.mean(numbers):.0%}"
    return f"{np.median(numbers):.4g}"


def _listed(text: str | None, kind: Callable[[str], Any], option: str) -> list[Any] | None:
    if text is None:
        return None
    try:
        return [kind(part.strip()) for part in text.split(",") if part.strip()]
    except ValueError:
        raise ValueError(
            f"{option} must be whole numbers separated by commas, got {text!r}."
        ) from None
