"""All figures and tables of an experiment, from the folder of its results."""

import json
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from shootax.controls import FORMULATIONS
from shootax.experiments.published import PUBLISHED
from shootax.plots.boxes import box_figure
from shootax.plots.depth import mapping_figure, particle_fits_figure, weights_figure
from shootax.plots.latent import draw_latent, first_runs
from shootax.plots.results import Results, Run
from shootax.plots.style import save_figure
from shootax.plots.success import success_figure
from shootax.plots.tables import parameters_table, results_table
from shootax.plots.trajectories import trajectories_figure

COMPLEXITY = ("complexity_log2_frobenius", "∫ log₂ ‖θ‖² dt", False)
Drawn = Iterator[tuple[str, Callable[[], Any]]]


def draw_sweep(folder: str | os.PathLike) -> tuple[list[pathlib.Path], list[str]]:
    """Draws all that the results allow to `figures/`. Returns the files, and notes on what is missing.

    **Arguments:** `folder`, as `shootax reproduce` has written it.
    """
    results = Results.read(folder)
    if results.settings.experiment in PUBLISHED:  # those with sequences of images
        return draw_latent(results.folder)
    target = results.folder / "figures"
    target.mkdir(exist_ok=True)
    paths, notes = [], []
    for name, draw in figures(results):
        try:
            paths.extend(save_figure(draw(), target, name))
        except FileNotFoundError as error:
            notes.append(f"No figure {name}: {error}")
    tables = {"results.md": results_table(results)}
    if results.settings.experiment != "circles":
        tables["parameters.md"] = parameters_table(results.settings.experiment)
    for name, text in tables.items():
        (target / name).write_text(text, encoding="utf-8")
        paths.append(target / name)
    return paths, notes


def figures(results: Results) -> Drawn:
    """The names of an experiment's figures, and how to draw them."""
    kinds = {"spiral": _spiral, "circles": _circles}
    yield from kinds.get(results.settings.experiment, _regression)(results)


def _regression(results: Results) -> Drawn:
    name = results.settings.experiment
    panels = [("test_mse", "test MSE", True), COMPLEXITY]
    title = f"{name}, {_title(results)}"
    yield "loss_and_complexity", lambda: box_figure(results, panels, title)
    few = _by_particles(results)
    if few:
        errors = {count: run["test_mse"] for count, run in few.items()}
        yield (
            "fits_by_particles",
            lambda: particle_fits_figure(_nets(results, few), errors, name),
        )
    shown = _shown(results)
    for inflation in shown[:1]:
        kinds = {
            kind: results.typical(
                "test_mse",
                formulation=kind,
                inflation=inflation,
                particles=results.particles_of(kind),
            )
            for kind in results.settings.formulations
        }
        found = {kind: run for kind, run in kinds.items() if run is not None}
        if found:
            yield "mapping", lambda found=found: mapping_figure(_nets(results, found))
    deep = {a: run for a in shown if (run := _dynamic(results, a)) is not None}
    if deep:
        yield "weights_along_depth", lambda: weights_figure(_nets(results, deep))


def _spiral(results: Results) -> Drawn:
    title = _title(results)
    short = [("short_range_loss", "short-range loss (norm)", True), COMPLEXITY]
    yield "short_range", lambda: box_figure(results, short, f"spiral, short range, {title}")
    long = [
        ("long_range_loss", "long-range loss (norm)", True),
        ("long_range_complexity_log2_frobenius", COMPLEXITY[1] + ", all pieces", False),
    ]
    yield "long_range", lambda: box_figure(results, long, f"spiral, long range, {title}")
    squared = [
        ("short_range_mse", "short-range MSE", True),
        ("long_range_mse", "long-range MSE", True),
    ]
    yield "squared_norm", lambda: box_figure(results, squared, f"spiral, squared norm, {title}")
    found = _formulations(results)
    if found:
        yield "trajectories", lambda: trajectories_figure(_nets(results, found))


def _circles(results: Results) -> Drawn:
    yield "success", lambda: success_figure(results)


def _title(results: Results) -> str:
    settings = results.settings
    return (
        f"{len(settings.seeds)} seeds, {results.main_particles()} particles, "
        f"{settings.epochs} epochs, recipe “{settings.recipe}”"
    )


def _nets(results: Results, runs: dict[Any, Run]) -> dict[Any, Any]:
    missing = [
        run["model"] for run in runs.values() if not (results.folder / run["model"]).exists()
    ]
    if missing:
        raise FileNotFoundError(f"the models {', '.join(missing)} are not in {results.folder}.")
    return {key: results.net(run) for key, run in runs.items()}


def _shown(results: Results) -> list[int]:
    """Inflation factors whose models are looked into: the paper's 16 and 64, if there."""
    have = results.inflations()
    return [a for a in (16, 64) if a in have] or have[:1]


def _dynamic(results: Results, inflation: int) -> Run | None:
    return results.typical(
        "test_mse",
        formulation="dynamic-particles",
        inflation=inflation,
        particles=results.main_particles(),
    )


def _by_particles(results: Results) -> dict[int, Run]:
    """A typical run for each number of particles at the first inflation factor that is shown."""
    if not results.inflations():
        return {}
    inflation = _shown(results)[0]
    runs = results.where(formulation="dynamic-particles", inflation=inflation)
    counts = sorted({run["particles"] for run in runs})
    wanted = {"formulation": "dynamic-particles", "inflation": inflation}
    found = {count: results.typical("test_mse", particles=count, **wanted) for count in counts}
    return {count: run for count, run in found.items() if run is not None}


def _formulations(results: Results) -> dict[str, Run]:
    """A typical run of each formulation for the trajectories, at α = 32 if there."""
    have = results.inflations()
    if not have:
        return {}
    inflation = 32 if 32 in have else have[0]
    found = {}
    for name in FORMULATIONS:
        run = results.typical(
            "long_range_loss",
            formulation=name,
            inflation=inflation,
            particles=results.particles_of(name),
        )
        if run is not None:
            found[name] = run
    return found


def needed(results: Results) -> list[Run]:
    """The runs whose models the figures are drawn from."""
    if results.settings.experiment == "circles":
        return []
    if results.settings.experiment in PUBLISHED:
        return list(first_runs(results.settings, results.runs).values())
    if results.settings.experiment == "spiral":
        return list(_formulations(results).values())
    runs = [*_by_particles(results).values()]
    for inflation in _shown(results):
        for name in results.settings.formulations:
            run = results.typical(
                "test_mse",
                formulation=name,
                inflation=inflation,
                particles=results.particles_of(name),
            )
            deep = name == "dynamic-particles" or inflation == _shown(results)[0]
            if run is not None and deep:
                runs.append(run)
    return runs


def compacted(folder: str | os.PathLike, target: str | os.PathLike) -> pathlib.Path:
    """Copies the results, with six digits, and the models that the figures need to a new folder."""
    results, target = Results.read(folder), pathlib.Path(target)
    target.mkdir(parents=True, exist_ok=True)
    if any(path.suffix not in (".json", ".md") and path.is_file() for path in target.iterdir()):
        raise ValueError(f"{target} has other files in it. Choose a new folder with --compact.")
    shutil.copy(results.folder / "sweep.json", target / "sweep.json")
    lines = [json.dumps({k: _rounded(v) for k, v in run.items()}) for run in results.runs]
    (target / "results.json").write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    (target / "models").mkdir(exist_ok=True)
    for run in needed(results):
        shutil.copy(results.folder / run["model"], target / run["model"])
    return target


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
