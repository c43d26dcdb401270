"""Draw all figures and tables of an experiment from the folder of its results."""

import json
import os
import pathlib
import shutil
from types import ModuleType
from typing import Any

from shootax.paper import (
    _circles_figures,
    _latent_figures,
    _mnist_figures,
    _regression_figures,
    _spiral_figures,
)
from shootax.paper._catalogue import COLLECTIONS
from shootax.paper._published import PUBLISHED
from shootax.paper._questions import figures as _questions_figures
from shootax.paper._results import Results, model_path
from shootax.paper._tables import parameters_table, results_table
from shootax.plots import save_figure

_DRAWN_BY: dict[str, ModuleType] = {
    "quadratic": _regression_figures,
    "cubic": _regression_figures,
    "spiral": _spiral_figures,
    "circles": _circles_figures,
    "mnist": _mnist_figures,
    "questions-data": _questions_figures,
    "questions-networks": _questions_figures,
    "questions-formulations": _questions_figures,
}
"""Each module has `figures(results)`, the names of figures with functions that draw them, and
`needed(results)`, the runs whose models the figures need."""


def draw_figures(folder: str | os.PathLike) -> tuple[list[pathlib.Path], list[str]]:
    """Draw all figures that the results allow into `figures/`.

    **Arguments:** `folder`: a folder that `shootax reproduce` has written.

    **Returns:** the paths of the files, and notes on missing figures.
    """
    results = Results.read(folder)
    if results.settings.experiment in PUBLISHED:  # experiments with sequences of images
        return _latent_figures.draw(results)
    target = results.folder / "figures"
    target.mkdir(exist_ok=True)
    paths, notes = [], []
    for name, draw in _DRAWN_BY[results.settings.experiment].figures(results):
        try:
            paths.extend(save_figure(draw(), target, name))
        except FileNotFoundError as error:
            notes.append(f"The figure {name} cannot be drawn: {error}")
    if results.settings.experiment in COLLECTIONS["questions"]:
        tables = {"results.md": _questions_figures.table(results)}
    elif results.settings.experiment == "mnist":
        tables = {"results.md": _mnist_figures.table(results)}
    else:
        tables = {"results.md": results_table(results)}
    if results.settings.experiment in ("quadratic", "cubic", "spiral"):
        tables["parameters.md"] = parameters_table(results.settings.experiment)
    for name, text in tables.items():
        (target / name).write_text(text, encoding="utf-8")
        paths.append(target / name)
    return paths, notes


def compact(folder: str | os.PathLike, target: str | os.PathLike) -> pathlib.Path:
    """Copy the results, with six digits, and the models that the figures need to a new folder.

    **Arguments:**

    - `folder`: the folder of the results.
    - `target`: the new folder.
    """
    results, target = Results.read(folder), pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    if any(path.suffix not in (".json", ".md") and path.is_file() for path in target.iterdir()):
        raise ValueError(f"{target} contains other files. Choose a new folder with --compact.")
    shutil.copy(results.folder / "sweep.json", target / "sweep.json")
    lines = [json.dumps({k: _rounded(v) for k, v in run.items()}) for run in results.runs]
    (target / "results.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    (target / "models").mkdir(exist_ok=True)
    module = _DRAWN_BY.get(results.settings.experiment, _latent_figures)
    for run in module.needed(results):
        shutil.copy(model_path(results.folder, run), model_path(target, run))
    return target


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
