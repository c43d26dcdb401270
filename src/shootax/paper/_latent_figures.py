"""The figures of the experiments with sequences of images, from a folder of results."""

import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from shootax import load, load_record
from shootax.data import Sequences
from shootax.paper import _latent as latent
from shootax.paper._balls import AHEAD, SEEN
from shootax.paper._catalogue import EXPERIMENTS
from shootax.paper._plan import Settings
from shootax.paper._published import CURVES, as_markdown, comparison
from shootax.paper._results import Results, Run, model_path
from shootax.paper._sequences import (
    latent_figure,
    sequence_figure,
    steps_figure,
    training_figure,
    write_animation,
)
from shootax.plots import save_figure

SHOWN = 6
"""The number of sequences in an animation."""
MOST = 200
"""The number of sequences whose trajectories in latent space are drawn."""


def draw(results: Results) -> tuple[list[pathlib.Path], list[str]]:
    """Draw all figures that the results allow, from the first seed of every formulation."""
    folder, settings, runs = results.folder, results.settings, results.runs
    out, rotating = folder / "figures", settings.experiment == "rotating-mnist"
    chosen = first_runs(settings, runs)
    if not chosen:
        return [], ["No run is finished, so there is nothing to draw."]
    loaded = {name: load(model_path(folder, run)) for name, run in chosen.items()}
    test, seen = _test(settings), settings.options["first"]
    few = test[:SHOWN]
    predicted = {name: latent.predictions(model, few, seen) for name, model in loaded.items()}
    tested = (3,) if rotating else range(SEEN, SEEN + AHEAD)
    drawn = {
        "sequences": sequence_figure(few.frames, predicted, seen=seen, tested=tested),
        "training": _training(folder, chosen, rotating),
    }
    if rotating:
        paths = {
            name: np.asarray(model.paths(latent.inputs(model, test[:MOST], seen)))
            for name, model in loaded.items()
        }
        drawn["latent"] = latent_figure(paths, 24.0 * np.arange(len(test.times)))
    else:
        curves = {name: run["mse_per_step"] for name, run in chosen.items()}
        drawn["steps"] = steps_figure(curves, CURVES, "MSE per pixel")
    written = []
    for name, figure in drawn.items():
        written.extend(save_figure(figure, out, name))
    written.append(write_animation(out / "sequences.gif", few.frames, predicted))
    table = out / "table.md"
    table.write_text(as_markdown(comparison(settings.experiment, runs)), encoding="utf-8")
    lines = [
        f"{name}: {mse} ({where})" for name, mse, where in comparison(settings.experiment, runs)
    ]
    return [*written, table], ["Test MSE per pixel:", *lines]


def needed(results: Results) -> list[Run]:
    """The runs whose models the figures need."""
    return list(first_runs(results.settings, results.runs).values())


def first_runs(settings: Settings, runs: Sequence[Run]) -> dict[str, Run]:
    """The run of the first successful seed, for every formulation."""
    good = {run["formulation"]: run for run in reversed(runs) if run["status"] == "ok"}
    return {name: good[name] for name in settings.formulations if name in good}


def _test(settings: Settings) -> Sequences:
    experiment: Any = EXPERIMENTS[settings.experiment]
    data = experiment.data(settings)
    return data[1] if isinstance(data, tuple) else data


def _training(folder: pathlib.Path, chosen: dict[str, Any], rotating: bool) -> Any:
    records = {name: load_record(model_path(folder, run)) for name, run in chosen.items()}
    column = "data" if rotating else "validation"
    histories = {name: record["history"][column] for name, record in records.items()}
    seconds = {name: record["seconds"] for name, record in records.items()}
    ylabel = "training MSE" if rotating else "validation MSE of all frames"
    return training_figure(histories, seconds, ylabel)
