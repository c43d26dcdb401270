"""Stored models are evaluated again, and differences are found."""

import json
import pathlib
import shutil

import pytest

from shootax import FileFormatError
from shootax.paper import verify

RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "results"
pytestmark = pytest.mark.usefixtures("standard_promotion")


@pytest.fixture
def folder(tmp_path):
    """A results folder with one model."""
    name, model = "cubic-paper", "dynamic-particles-a16-k15-s6.safetensors"
    (tmp_path / "models").mkdir()
    shutil.copy(RESULTS / name / "sweep.json", tmp_path)
    shutil.copy(RESULTS / name / "results.json", tmp_path)
    shutil.copy(RESULTS / name / "models" / model, tmp_path / "models")
    return tmp_path


def change(folder, **entries):
    """Change the run whose model is stored."""
    (model,) = (folder / "models").iterdir()
    runs = json.loads((folder / "results.json").read_text())
    for run in runs:
        if run.get("model") == f"models/{model.name}":
            run.update(entries)
    (folder / "results.json").write_text(json.dumps(runs))


def test_numbers_as_recorded(folder, shootax):
    (each,) = verify(folder)
    assert each.differing == ()
    assert {"test_mse", "penalty", "parameters", "complexity_log2_frobenius"} <= set(each.recorded)
    code, printed, _ = shootax("verify", folder)
    assert code == 0
    assert "1 of 1 models give the recorded numbers" in printed


def test_other_numbers(folder, shootax):
    (before,) = verify(folder)
    change(folder, test_mse=1.01 * before.recorded["test_mse"], parameters=1)
    (each,) = verify(folder)
    assert set(each.differing) == {"test_mse", "parameters"}
    code, printed, _ = shootax("verify", folder)
    assert code == 1
    assert "DIFFERS: " in printed
    assert "parameters is" in printed
    assert "recorded 1" in printed
    assert "0 of 1 models" in printed


def test_other_model(folder):
    (model,) = (folder / "models").iterdir()
    shutil.copy(
        RESULTS / "quadratic-best" / "models" / "dynamic-particles-a16-k15-s3.safetensors", model
    )
    (each,) = verify(folder)
    assert {"test_mse", "penalty"} <= set(each.differing)


def test_no_model(folder, shootax):
    shutil.rmtree(folder / "models")
    with pytest.raises(FileNotFoundError, match="no model to verify"):
        verify(folder)
    code, _, printed = shootax("verify", folder)
    assert "no model to verify" in f"{code}{printed}"


def test_run_outside_of_the_sweep(folder):
    change(folder, inflation=17)
    with pytest.raises(FileFormatError, match="none of the sweep's"):
        next(verify(folder))
