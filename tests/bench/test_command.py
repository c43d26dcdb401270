"""The command, from its options to its file, in the process that it starts."""

import json
import pathlib

import pytest
from typer.testing import CliRunner

from shootax.bench import rival_torch
from shootax.cli.app import app
from shootax.cli.bench import planned


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> tuple[str, pathlib.Path]:
    path = tmp_path_factory.mktemp("bench") / "deep" / "results.json"
    options = ["--quick", "--threads", "1", "--parts", "race", "--cases", "regression-16"]
    done = CliRunner().invoke(app, ["bench", *options, "--json", str(path)])
    assert done.exit_code == 0, done.output
    return done.output, path


@pytest.mark.slow
def test_rows_have_case_rival_and_consistent_ratio(results):
    _, path = results
    rows = [row for row in json.loads(path.read_text()) if row["part"] == "race"]
    absent = rival_torch.missing()
    expected = ["diffrax", "limit"] if absent else ["diffrax", "torchdiffeq", "limit"]
    assert [row["rival"] for row in rows] == expected
    for row in rows:
        assert row["case"] == "regression-16"
        assert row["ratio"] == pytest.approx(row["rival_ms"] / row["ours_ms"])
        assert row["ours_lower_ms"] <= row["ours_ms"] <= row["ours_upper_ms"]
    assert rows[-1]["times_limit"] > 1, "nothing is faster than the machine's own limit"


@pytest.mark.slow
def test_output_names_what_is_missing_and_the_file_that_markdown_is_made_of(results):
    text, path = results
    assert path.name in text.replace("\n", "")
    assert ("left out" in text) == bool(rival_torch.missing())
    done = CliRunner().invoke(app, ["bench", "--markdown", str(path)])
    assert done.exit_code == 0
    assert "## One thread" in done.output
    assert "| regression-16 | dense |" in done.output


def test_markdown_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}')
    done = CliRunner().invoke(app, ["bench", "--markdown", str(path)])
    assert "is not a file of results" in str(done.exception)


def test_both_numbers_of_threads_are_planned_and_names_checked():
    assert next(run.threads for run in planned(None, "race", "both", True)) == 1
    assert len(planned(None, "memory", "both", True)) == 1
    (run,) = planned("spiral-32, regression-16", "memory,forms", "1", False)
    assert run.cases == ("spiral-32", "regression-16")
    assert run.parts == ("memory", "forms")
    with pytest.raises(ValueError, match="threads"):
        planned(None, None, "three", False)
