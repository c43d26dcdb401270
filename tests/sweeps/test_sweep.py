"""A user's own function over a grid, in processes: interrupted, damaged, failing, and resumed."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import pytest

from shootax import FileFormatError
from shootax.sweeps import Store, grid_sweep, read_results, read_settings, run_sweep, to_pandas

# Files in a folder of switches tell the function what to do this time.
MODULE = """
import os, pathlib, shutil, signal, time
import numpy as np
import shootax as sx


def train(config, seed, ctx):
    switches = pathlib.Path(ctx.shared["switches"])
    state = int(ctx.checkpoint.read_text()) if ctx.checkpoint.exists() else 0
    with open(switches / "calls", "a") as file:
        file.write(f"{ctx.name} from {state}\\n")
    for step in range(state, 3):
        ctx.checkpoint.write_text(str(step + 1))
        ctx.progress(step + 1, 3, f"step {step}")
        switch = switches / f"{ctx.name}.{step}"
        wanted = switch.read_text() if switch.exists() else ""
        if wanted:
            switch.unlink()
        if wanted == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if wanted == "fail":
            raise MemoryError("too large")
        if wanted == "diverge":
            raise sx.DivergedError("It went too far.", None)
        if wanted == "remove":
            shutil.rmtree(ctx.out)
        if wanted == "wait":
            (switches / "pid").write_text(str(os.getpid()))
            time.sleep(60)
    print("noise on standard output")
    (ctx.folder / "model.txt").write_text(f"model of {seed}")
    return {
        "value": config["x"] ** 2 + seed,
        "bad": float("nan"),
        "array": np.array([config["y"], np.inf]),
    }
"""
SCRIPT = """
if __name__ == "__main__":
    import sys
    from shootax.sweeps import run_sweep
    run_sweep(train, {"x": [2, 3], "y": [0.5]}, sys.argv[1], shared={"switches": sys.argv[2]})
"""
GRID = {"x": [2, 3], "y": [0.5]}
NAMES = ["x-2-y-0.5-s0", "x-3-y-0.5-s0"]


@pytest.fixture(scope="module")
def function(tmp_path_factory):
    """The function of a module that is on the path of this process."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "my_study.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    import my_study  # pyright: ignore

    yield my_study.train
    sys.path.remove(str(folder))


def swept(function, tmp_path, **options):
    shared = {"switches": str(tmp_path)}
    return run_sweep(function, GRID, tmp_path / "out", shared=shared, **options)


def calls(tmp_path):
    """The calls since this was last asked."""
    path = tmp_path / "calls"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return lines


def statuses(runs):
    return [run["status"] for run in runs]


@pytest.fixture(scope="module")
def whole(function, tmp_path_factory):
    """A sweep of two configurations with two seeds each in two processes."""
    base = tmp_path_factory.mktemp("whole")
    return base, swept(function, base, seeds=[5, 7], jobs=2)


def test_nothing_is_said_beside_the_progress(function, tmp_path, capfd):
    """A worker starts without warnings of Python."""
    swept(function, tmp_path)
    assert "Warning" not in capfd.readouterr().err


def test_table_of_results(whole):
    base, runs = whole
    assert [(run["x"], run["y"], run["seed"]) for run in runs] == [
        *((2, 0.5, 5), (2, 0.5, 7)),
        *((3, 0.5, 5), (3, 0.5, 7)),
    ]
    assert [run["value"] for run in runs] == [9, 11, 14, 16]
    assert all(run["status"] == "ok" and run["reason"] is None for run in runs)
    assert all(run["seconds"] >= 0 for run in runs)
    assert read_results(base / "out") == runs
    assert read_settings(base / "out")["function"] == "my_study:train"
    frame = to_pandas(runs)
    assert frame.groupby("x")["value"].mean().tolist() == [10, 15]


def test_numbers_that_are_not_finite_are_null(whole):
    def refuse(name):
        raise AssertionError(f"{name} is no JSON")

    base, runs = whole
    files = [base / "out" / "results.json", *(base / "out" / "runs").iterdir()]
    assert len(files) == 5
    for file in files:
        json.loads(file.read_text(), parse_constant=refuse)
    assert {(run["bad"], tuple(run["array"])) for run in runs} == {(None, (0.5, None))}


def test_models_are_kept_and_checkpoints_are_not(whole):
    base, _ = whole
    model = base / "out" / "models" / "x-3-y-0.5-s7" / "model.txt"
    assert model.read_text() == "model of 7"
    assert not list((base / "out" / "checkpoints").iterdir())


def test_finished_sweep_calls_nothing(function, whole, tmp_path):
    base, runs = whole
    shutil.copytree(base / "out", tmp_path / "out")
    calls(base)
    assert run_sweep(
        function, GRID, tmp_path / "out", seeds=[5, 7], shared={"switches": str(base)}
    ) == runs  # fmt: skip
    assert calls(base) == []


@pytest.mark.parametrize(
    "content",
    ["[{", "[]", "7", '[{"seed": 5}]', '[{"seed": 6, "status": "ok"}]', "[" * 100_000, "9" * 5000,
     '{"runs": [{"seed": 7, "status": "ok"}], "checksum": "0"}', '{"runs": 1}'],
    ids=lambda content: content[:40],
)  # fmt: skip
def test_damaged_file_costs_its_group_only(function, whole, tmp_path, content, capfd):
    base, _ = whole
    store = Store(tmp_path / "out")
    shutil.copytree(base / "out", store.folder)
    groups = grid_sweep(function, GRID, seeds=[5, 7]).groups
    (store.runs / f"{groups[1].name}.json").write_text(content)
    assert list(store.finished(groups)) == [g.name for g in groups if g is not groups[1]]
    assert [path.stem for path in store.damaged(groups)] == [groups[1].name]
    assert [run["seed"] for run in store.collect(groups)] == [5, 5, 7]


def test_another_digit_in_a_result_is_noticed(function, whole, tmp_path):
    base, expected = whole
    store = Store(tmp_path / "out")
    shutil.copytree(base / "out", store.folder)
    group = grid_sweep(function, GRID, seeds=[5, 7]).groups[0]
    path = store.runs / f"{group.name}.json"
    path.write_text(path.read_text().replace('"value": 9', '"value": 8'))
    assert store.read_group(group) is None
    with pytest.raises(FileFormatError, match="its checksum does not match"):
        store.read_runs(path)
    path.write_text(json.dumps(expected[:1]))  # as older versions wrote it
    assert store.read_group(group) == expected[:1]


@pytest.mark.parametrize(
    ("old", "new"), [("0.5", "0.6"), ("checksum", "checksun"), ("{", "[" * 100_000)]
)
def test_settings_that_were_changed_are_noticed(whole, tmp_path, old, new):
    base, _ = whole
    shutil.copy(base / "out" / "sweep.json", tmp_path)
    path = tmp_path / "sweep.json"
    assert read_settings(tmp_path)["function"] == "my_study:train"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(FileFormatError, match=r"sweep\.json is damaged"):
        read_settings(tmp_path)


def test_damaged_file_is_made_again(function, whole, tmp_path, capfd):
    base, expected = whole
    shutil.copytree(base / "out", tmp_path / "out")
    (tmp_path / "out" / "runs" / "x-2-y-0.5-s7.json").write_text("[{")
    calls(base)
    runs = run_sweep(function, GRID, tmp_path / "out", seeds=[5, 7], shared={"switches": str(base)})
    assert calls(base) == ["x-2-y-0.5-s7 from 0"]
    assert [run["value"] for run in runs] == [run["value"] for run in expected]
    error = " ".join(capfd.readouterr().err.split())
    assert "damaged; its runs are repeated" in error


def test_killed_worker_takes_only_its_group_along(function, tmp_path):
    (tmp_path / f"{NAMES[0]}.1").write_text("kill")
    runs = swept(function, tmp_path)
    assert statuses(runs) == ["failed", "ok"]
    assert "signal 9" in runs[0]["reason"]
    store = Store(tmp_path / "out")
    assert [path.stem for path in store.checkpoints.iterdir()] == [NAMES[0]]
    assert calls(tmp_path) == [f"{NAMES[0]} from 0", f"{NAMES[1]} from 0"]
    # Run again, only the failed one is called, and goes on from its checkpoint.
    again = swept(function, tmp_path)
    assert calls(tmp_path) == [f"{NAMES[0]} from 2"]
    assert statuses(again) == ["ok", "ok"]
    assert [run["value"] for run in again] == [4, 9]
    assert not list(store.checkpoints.iterdir())


def test_failed_runs_are_repeated_and_diverged_ones_are_not(function, tmp_path):
    (tmp_path / f"{NAMES[0]}.0").write_text("fail")
    (tmp_path / f"{NAMES[1]}.0").write_text("diverge")
    runs = swept(function, tmp_path)
    assert [(run["status"], run["reason"]) for run in runs] == [
        ("failed", "MemoryError: too large"),
        ("diverged", "It went too far."),
    ]
    calls(tmp_path)
    assert statuses(swept(function, tmp_path)) == ["ok", "diverged"]
    assert calls(tmp_path) == [f"{NAMES[0]} from 1"]


def test_removed_folder_gets_one_message(function, tmp_path, capfd):
    (tmp_path / f"{NAMES[0]}.0").write_text("remove")
    with pytest.raises(
        RuntimeError, match=r"out was removed or renamed while the sweep was running"
    ):
        swept(function, tmp_path)
    assert "Traceback" not in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_sweep_of_a_script_is_killed_and_resumed(tmp_path):
    """The parent is killed, which ends its worker; the function is of the script itself."""
    script = tmp_path / "study.py"
    script.write_text(MODULE + SCRIPT)
    (tmp_path / f"{NAMES[1]}.1").write_text("wait")
    command = [sys.executable, str(script), str(tmp_path / "out"), str(tmp_path)]
    process = subprocess.Popen(command)
    limit, pid = time.monotonic() + 120, tmp_path / "pid"
    while not (pid.exists() and pid.read_text()):
        assert process.poll() is None
        assert time.monotonic() < limit
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    while _alive(int(pid.read_text())):
        assert time.monotonic() < limit, "the worker outlives its parent"
        time.sleep(0.02)
    assert calls(tmp_path) == [f"{NAMES[0]} from 0", f"{NAMES[1]} from 0"]
    assert subprocess.run(command).returncode == 0
    assert calls(tmp_path) == [f"{NAMES[1]} from 2"]
    assert [run["value"] for run in read_results(tmp_path / "out")] == [4, 9]


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that has ended but was not waited for yet still has its number.
    state = pathlib.Path(f"/proc/{pid}/stat")
    return not state.exists() or ") Z" not in state.read_text()
