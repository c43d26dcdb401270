"""The results in the documentation, written by earlier versions, can be read and drawn."""

import contextlib
import json
import pathlib
import shutil

import pytest

from shootax.paper import EXPERIMENTS, Results, compact, draw_figures, planned
from shootax.paper._spiral_figures import _formulations
from shootax.sweeps import Store

RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "results"
# Folders without a sweep.json are no reproductions.
FOLDERS = sorted(path.parent for path in RESULTS.glob("*/sweep.json"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_committed_runs_are_among_those_planned(folder):
    """Some folders hold a part of their sweep."""
    results = Results.read(folder)
    groups = planned(EXPERIMENTS[results.settings.experiment], results.settings)
    asked = [(*group.config.values(), seed) for group in groups for seed in group.seeds]
    names = (*groups[0].config, "seed")
    have = [tuple(run[name] for name in names) for run in results.runs]
    assert have
    assert len(set(have)) == len(have)
    assert set(have) <= set(asked)
    assert all(run["status"] in ("ok", "diverged") for run in results.runs)


def test_folder_of_earlier_versions_is_taken_as_finished(tmp_path):
    """Its layout: settings as they are, a file for each group with the columns of that time."""
    folder = next(folder for folder in FOLDERS if folder.name == "quadratic-paper")
    results, store = Results.read(folder), Store(tmp_path / "out")
    groups = planned(EXPERIMENTS["quadratic"], results.settings)
    store.open(results.settings.as_json())
    left = list(results.runs)
    for group in groups:
        runs, left = left[: len(group.seeds)], left[len(group.seeds) :]
        store.write_group(group, runs)
    assert store.finished(groups).keys() == {group.name for group in groups}
    assert store.collect(groups) == results.runs
    names = {path.stem for path in store.runs.iterdir()}
    assert {"static-direct-a4-s0-9", "dynamic-particles-a16-k25-s0-9"} <= names


@pytest.mark.parametrize("name", ["circles", "rotating-undeformed"])
def test_drawn_from_results_alone(name, tmp_path):
    shutil.copytree(FOLDERS[0].parent / name, tmp_path / name)
    shutil.rmtree(tmp_path / name / "figures")
    if name == "rotating-undeformed":  # its models were not kept
        with pytest.raises(ValueError, match=r"\.safetensors"):
            draw_figures(tmp_path / name)
        return
    paths, notes = draw_figures(tmp_path / name)
    assert {path.name for path in paths} == {"success.png", "success.svg", "results.md"}
    assert notes == []


def test_results_name_no_file_outside_their_folder(tmp_path):
    """A hostile name of a model can neither be read from nor copied to another place."""
    source = tmp_path / "theirs"
    shutil.copytree(FOLDERS[0].parent / "quadratic-best", source)
    victim = tmp_path / "victim.safetensors"
    victim.write_text("private")
    path = source / "results.json"
    runs = json.loads(path.read_text("utf-8"))
    for run in runs:
        run["model"] = "../victim.safetensors"
    path.write_text(json.dumps(runs), "utf-8")
    with contextlib.suppress(FileNotFoundError):
        compact(source, tmp_path / "a" / "b" / "copy")
    assert victim.read_text() == "private"
    assert sorted(tmp_path.rglob("victim*")) == [victim]


def test_trajectories_are_drawn_for_every_formulation_that_was_run():
    results = Results.read(RESULTS / "spiral-paper")
    assert set(_formulations(results)) == {run["formulation"] for run in results.runs}
