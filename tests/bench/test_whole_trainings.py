"""The table of whole trainings: its lines, what is extrapolated, and the command in a few epochs."""

import json
import pathlib
import subprocess
import sys

import pytest

from benchmarks import whole_trainings
from benchmarks.whole_trainings import earlier_figure, line, main, trainings

ROOT = pathlib.Path(__file__).parents[2]


def test_lines_say_what_was_reached_and_what_was_not():
    ours = {"training": "ours", "epochs": 123, "cold": 7.14, "warm": 5.16}
    whole = {"whole_seconds": 7.9, "whole_objective": 0.1031}
    assert line({**ours, **whole}) == "| ours | 123 | 7.1 s | 5.2 s | 7.9 s | 0.103 |"
    missed = {"training": "ours", "epochs": None, "cold": None, "warm": None, **whole}
    assert line(missed) == "| ours | not reached |  |  | 7.9 s | 0.103 |"
    rival = {"training": "rival", "epochs": 123, "cold": 50.0, "warm": 40.0}
    assert line(rival) == "| rival | 123 | 50.0 s | 40.0 s |  |  |"


def test_the_figure_counts_240_trainings_and_no_others(tmp_path):
    path = tmp_path / "results.json"
    runs = [{"particles": count, "processor_seconds": 60.0} for count in (None, 15, 2, 25)]
    path.write_text(json.dumps(runs))
    record = earlier_figure(path)
    assert (record["trainings"], record["seconds"]) == (2, 120.0)
    assert earlier_figure()["trainings"] == 4 * 6 * 10
    assert line(record).endswith("2 trainings | | | | 2 min | |")


def test_steps_beyond_the_measured_ones_are_extrapolated(monkeypatch):
    """The clock stands at 3 s after the first step, which compiles, and each other one takes 0.5 s."""
    import benchmarks.speed.rival_torch as module

    made = []
    monkeypatch.setitem(whole_trainings.PACKAGES, "rival_torch", ())
    monkeypatch.setattr(module, "runner", lambda case, begin: lambda: made.append(1))
    monkeypatch.setattr(
        whole_trainings.time, "process_time", lambda: 3.0 + 0.5 * max(len(made) - 1, 0)
    )
    found = whole_trainings.rival({"module": "rival_torch", "steps": 101, "measured": 5})
    assert len(made) == 5
    assert found["seconds"] == pytest.approx(3 + 0.5 * 100)


def test_every_seed_is_trained_with_and_without_polish():
    tasks = [task for _, task in trainings(3, quick=False)]
    best = [task for task in tasks if task["recipe"] == "best"]
    assert [task["seed"] for task in best if "polish" in task] == [0, 1, 2]
    assert [task["seed"] for task in best if "polish" not in task] == [0, 1, 2]
    assert {task["recipe"] for task in tasks} == {"best", "averaged", "paper"}


@pytest.mark.slow
def test_the_command_trains_in_fresh_processes(tmp_path, capsys):
    path = tmp_path / "whole.json"
    command = [sys.executable, "-m", "benchmarks.whole_trainings", "--quick", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    records = json.loads(path.read_text("utf-8"))
    assert records[0]["seconds"] == pytest.approx(601.2)
    first = records[1]
    assert 0 < first["epochs"] <= 20
    assert first["warm"] < first["cold"], "compiled programs are kept"
    assert first["reached"] <= 5.0
    main(["--markdown", str(path)])
    assert capsys.readouterr().out == done.stdout
