"""The command, from its options to its file, in the process that it starts."""

import json
import pathlib
import subprocess
import sys

import pytest

from benchmarks.__main__ import main
from benchmarks.speed import rival_torch
from benchmarks.speed.run import planned
from benchmarks.speed.settings import record

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
    assert [each["rival"] for each in records] == expected
    for each in records:
        assert each["case"] == "regression-16"
        assert each["ratio"] == pytest.approx(each["rival_ms"] / each["ours_ms"])
        assert each["ours_lower_ms"] <= each["ours_ms"] <= each["ours_upper_ms"]
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
    one, all_ = planned(None, None, "both", True)
    assert "cores" not in one.parts
    assert all_.parts == ("race", "cores")
    (run,) = planned("spiral-32, regression-16", "memory,forms", "1", False)
    assert run.cases == ("spiral-32", "regression-16")
    assert run.parts == ("memory", "forms")
    assert not run.fitting
    assert all(each.fitting for each in planned(None, "forms", "all", False, fitting=True))
    with pytest.raises(ValueError, match="threads"):
        planned(None, None, "three", False)


def test_an_incomplete_file_is_completed_and_a_complete_one_renewed(tmp_path, monkeypatch, capsys):
    path, asked = tmp_path / "results.json", []

    def measured(settings):
        (part,) = settings.parts
        asked.append(part)
        yield record("machine", "a machine", "", threads=1)
        yield record(part, "a case", "a rival", threads=1, ratio=2.0, ours_ms=1.0, rival_ms=2.0)
        if part == "scaling" and asked.count("scaling") == 1:
            raise RuntimeError("the power failed")

    monkeypatch.setattr("benchmarks.speed.run.measured", measured)
    command = ["--threads", "1", "--parts", "memory,scaling", "--json", str(path)]
    with pytest.raises(SystemExit, match="the power failed"):
        main(command)
    main(command)
    assert asked == ["memory", "scaling", "scaling"]
    parts = [each["part"] for each in json.loads(path.read_text())]
    assert parts == ["machine", "memory", "finished", "scaling", "finished"]
    main(command)
    assert asked == ["memory", "scaling", "scaling", "memory", "scaling"]
    main([*command, "--minutes", "0", "--quick"])  # another plan, and no time for it
    assert asked[5:] == []
    assert "Not measured, as 0 minutes are over: memory" in capsys.readouterr().out


def test_bad_places_are_told_before_anything_is_measured(tmp_path, monkeypatch):
    def work(*_):
        raise AssertionError("The work has begun.")

    monkeypatch.setattr("benchmarks.speed.run.measured", work)
    with pytest.raises(SystemExit, match="is a folder"):
        main(["--quick", "--json", str(tmp_path)])
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match="benchmarks: "):
        main(["--quick", "--json", str(tmp_path / "file" / "results.json")])
