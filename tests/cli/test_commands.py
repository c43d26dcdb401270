"""The command `shootax`: most of it in this process, the rest as a user runs it."""

import json
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import shootax as sx
from test_measures import paper_entries

COMMAND = pathlib.Path(sys.executable).with_name("shootax")


def run(*arguments, timeout=300):
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, timeout=timeout, check=False
    )


def test_count_prints_the_paper_s_tables_as_json(shootax):
    code, out, err = shootax("count", "--json")
    assert code == 0, err
    rows = json.loads(out)
    assert len(rows) == 56
    expected = [
        {
            "experiment": experiment,
            "formulation": formulation,
            "particles": particles,
            "inflation": inflation,
            "parameters": number,
        }
        for experiment, _, formulation, particles, inflation, number in paper_entries()
    ]
    assert sorted(map(str, rows)) == sorted(map(str, expected))


@pytest.mark.slow
def test_count_prints_tables_for_people(shootax):
    code, out, err = shootax("count")
    assert code == 0, err
    for number in ("84,101", "334,858", "542"):
        assert number in out


def test_version():
    assert run("--version").stdout.strip() == f"shootax {sx.__version__}"


@pytest.mark.parametrize("arguments", [("cuont",), ("count", "--xml"), ("demo", "--epochs", "0")])
def test_mistakes_are_told_in_a_line_and_an_exit_code(shootax, arguments):
    code, _, err = shootax(*arguments)
    assert code == 2
    assert "Traceback" not in err
    assert arguments[-1] in err or "Invalid value" in err


def test_no_command_shows_help(shootax):
    _, out, err = shootax()
    assert "count" in out + err
    assert "demo" in out + err


@pytest.mark.slow
def test_demo(tmp_path):
    out = tmp_path / "results"
    done = run("demo", "--epochs", "3", "--out", str(out), timeout=600)
    assert done.returncode == 0, done.stderr
    results = json.loads((out / "results.json").read_text())
    assert [row["formulation"] for row in results] == list(sx.FORMULATIONS)
    assert [row["parameters"] for row in results] == [337, 542, 542, 1557]
    for row in results:
        assert row["formulation"] in done.stdout
        assert np.isfinite([row["test_mse"], row["penalty"], row["seconds"]]).all()
        net = sx.load(out / f"{row['formulation']}.safetensors")
        assert sx.count(net) == row["parameters"]
        np.testing.assert_allclose(sx.penalty(net), row["penalty"], rtol=1e-4)
    assert (out / "fits.png").stat().st_size > 10_000
    assert (out / "fits.svg").read_text().lstrip().startswith("<?xml")


def test_demo_into_a_file_that_is_in_the_way(tmp_path):
    (tmp_path / "file").touch()
    done = run("demo", "--epochs", "1", "--out", str(tmp_path / "file"))
    assert done.returncode == 1
    assert done.stderr.startswith("shootax: ")
    assert "Traceback" not in done.stderr
