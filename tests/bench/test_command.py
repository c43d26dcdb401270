"""The command, from its options to its file, in the process that it starts."""

import json
import pathlib
import subprocess
import sys

import pytest

from benchmarks.__main__ import main
from benchmarks.speed import rival_torch
from benchmarks.speed.run import planned

ROOT = pathlib.Path(__file__).parents[2]


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> tuple[str, pathlib.Path]:
    path = tmp_path_factory.mktemp("bench") / "deep" / "results.json"
    options = ["--quick", "--threads", "1", "--parts", "race", "--cases", "regression-16"]
    command = [sys.executable, "-m", "benchmarks", *options, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout, path


@pytest.mark.slow
def test_records_have_case_rival_and_consistent_ratio(results):
    _, path = results
    records = [each for each in json.loads(path.read_text()) if each["part"] == "race"]
    absent = rival_torch.missing()
    expected = ["diffrax", "limit"] if absent else ["diffrax", "torchdiffeq", "limit"]
    assert [record["rival"] for record in records] == expected
    for record in records:
        assert record["case"] == "regression-16"
        assert record["ratio"] == pytest.approx(record["rival_ms"] / record["ours_ms"])
        assert record["ours_lower_ms"] <= record["ours_ms"] <= record["ours_upper_ms"]
    assert records[-1]["times_limit"] > 1, "nothing is faster than the machine's own limit"


@pytest.mark.slow
def test_output_names_what_is_missing_and_the_file_that_markdown_is_made_of(results, capsys):
    text, path = results
    assert path.name in text.replace("\n", "")
    assert ("left out" in text) == bool(rival_torch.missing())
    main(["--markdown", str(path)])
    tables = capsys.readouterr().out
    assert "## One thread" in tables
    assert "| regression-16 | dense |" in tables


def test_markdown_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}')
    with pytest.raises(SystemExit, match="is not a file of results"):
        main(["--markdown", str(path)])


def test_both_numbers_of_threads_are_planned_and_names_checked():
    assert next(run.threads for run in planned(None, "race", "both", True)) == 1
    assert len(planned(None, "memory", "both", True)) == 1
    (run,) = planned("spiral-32, regression-16", "memory,forms", "1", False)
    assert run.cases == ("spiral-32", "regression-16")
    assert run.parts == ("memory", "forms")
    with pytest.raises(ValueError, match="threads"):
        planned(None, None, "three", False)


def test_bad_places_are_told_before_anything_is_measured(tmp_path, monkeypatch):
    def work(*_):
        raise AssertionError("The work has begun.")

    monkeypatch.setattr("benchmarks.speed.run.measured", work)
    with pytest.raises(SystemExit, match="is a folder"):
        main(["--quick", "--json", str(tmp_path)])
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match="benchmarks: "):
        main(["--quick", "--json", str(tmp_path / "file" / "results.json")])
