"""An experiment of the paper is trained, interrupted and resumed, and its results are read again."""

import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import equinox as eqx
import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

import shootax as sx
from shootax.paper import EXPERIMENTS, Results, make_settings, planned, reproduce
from shootax.sweeps import Store

EXPERIMENT = EXPERIMENTS["cubic"]

# In a process of its own, in single precision, as users run it.
PROGRAM = """
import json, pathlib, sys
from shootax.paper import EXPERIMENTS, Settings, reproduce
settings = Settings.from_json(json.loads(sys.argv[1]))
reproduce(EXPERIMENTS["cubic"], settings, sys.argv[2], jobs=1, checkpoint_seconds=0.0)
"""


def settings(epochs=400, **options):
    """One formulation that compiles fast, at two inflation factors."""
    made = make_settings(
        EXPERIMENT, "smoke", seeds=2, formulations=["static-direct"], inflations=[2, 3]
    )
    return dataclasses.replace(made, epochs=epochs, options={**made.options, **options})


def start(made, out, cache):
    command = [sys.executable, "-c", PROGRAM, json.dumps(made.as_json()), str(out)]
    return subprocess.Popen(command, env={**os.environ, "XDG_CACHE_HOME": str(cache)})


def finish(made, out, cache):
    process = start(made, out, cache)
    assert process.wait(timeout=600) == 0
    return json.loads((out / "results.json").read_text())


def wait_for(condition, process, seconds=300):
    limit = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, "the sweep ended before it could be killed"
        assert time.monotonic() < limit
        time.sleep(0.01)


def without_seconds(runs):
    return [{key: value for key, value in run.items() if "seconds" not in key} for run in runs]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A sweep without interruption, and the cache of compiled programs it has filled."""
    base = tmp_path_factory.mktemp("whole")
    return base, finish(settings(), base / "out", base / "cache")


@pytest.mark.slow
def test_killed_in_the_middle_of_a_sweep_and_of_a_run(whole, tmp_path):
    base, expected = whole
    out = tmp_path / "out"
    first, second = planned(EXPERIMENT, settings())
    store = Store(out)
    process = start(settings(), out, base / "cache")
    wait_for(lambda: store.checkpoint(second).exists(), process)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = store.runs / f"{first.name}.json"
    assert done.exists()
    assert not (store.runs / f"{second.name}.json").exists()
    stamp = done.stat().st_mtime_ns
    results = finish(settings(), out, base / "cache")
    assert done.stat().st_mtime_ns == stamp  # what was finished was not repeated
    assert without_seconds(results) == without_seconds(expected)
    for run in expected:
        a, b = (load_file(folder / run["model"]) for folder in (base / "out", out))
        assert a.keys() == b.keys()
        assert all(np.array_equal(a[name], b[name]) for name in a)
    assert not list(store.checkpoints.iterdir())


@pytest.mark.slow
def test_results(whole):
    base, runs = whole
    assert [run["status"] for run in runs] == ["ok"] * 4
    assert [(run["inflation"], run["seed"]) for run in runs] == [(2, 0), (2, 1), (3, 0), (3, 1)]
    x = np.linspace(-1.5, 1.5, 1000)[:, None]
    constant = np.var(x**3)  # the error of the best constant
    for run in runs:
        net = sx.load(base / "out" / run["model"])
        net = jax.tree.map(lambda leaf: leaf.astype(float) if eqx.is_array(leaf) else leaf, net)
        error = np.mean((np.asarray(net(x)) - x**3) ** 2)
        np.testing.assert_allclose(run["test_mse"], error, rtol=1e-4)
        np.testing.assert_allclose(run["penalty"], sx.penalty(net), rtol=1e-5)
        assert run["parameters"] == sx.count(net)
        assert run["epochs"] == 400
        assert run["test_mse"] < 0.2 * constant  # it has learned the function, not its mean
    sweep = json.loads((base / "out" / "sweep.json").read_text())
    assert sweep["settings"] == settings().as_json()
    assert {"jax", "python", "shootax"} <= sweep["versions"].keys()


@pytest.mark.slow
def test_one_that_diverges_is_recorded_and_the_others_go_on(whole, tmp_path):
    base, _ = whole
    wild = settings(epochs=30, learning_rate=1e9)
    runs = finish(wild, tmp_path / "out", base / "cache")
    assert [run["status"] for run in runs] == ["diverged"] * 4
    assert all("Training diverged in epoch" in run["reason"] for run in runs)
    assert all(run["test_mse"] is None for run in runs)


@pytest.mark.slow
def test_a_worker_that_is_killed_takes_only_its_group_along(whole, tmp_path):
    base, expected = whole
    out = tmp_path / "out"
    first, _ = planned(EXPERIMENT, settings())
    process = start(settings(), out, base / "cache")
    wait_for(lambda: Store(out).checkpoint(first).exists(), process)
    tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    (worker,) = [pid for task in tasks for pid in (task / "children").read_text().split()]
    os.kill(int(worker), signal.SIGKILL)
    assert process.wait(timeout=600) == 0
    runs = json.loads((out / "results.json").read_text())
    assert [run["status"] for run in runs] == ["failed", "failed", "ok", "ok"]
    assert "signal 9" in runs[0]["reason"]
    # Run again, only the failed ones are trained, from their checkpoint.
    assert without_seconds(finish(settings(), out, base / "cache")) == without_seconds(expected)


@pytest.mark.slow
def test_folder_of_another_sweep_is_left_alone(whole):
    base, _ = whole
    before = {path: path.stat().st_mtime_ns for path in (base / "out").rglob("*")}
    with pytest.raises(ValueError, match=r"other settings \(epochs: there 400, here 7\).*--out"):
        reproduce(EXPERIMENT, settings(epochs=7), base / "out")
    assert {path: path.stat().st_mtime_ns for path in (base / "out").rglob("*")} == before


def test_folders_that_will_not_do(tmp_path):
    (tmp_path / "file").write_text("mine")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("mine")
    for out, message in (
        (tmp_path / "full", "is not empty and holds no sweep"),
        (tmp_path / "file", "is a file"),
        (tmp_path / "file" / "below", "cannot be written to"),
    ):
        with pytest.raises(ValueError, match=message):
            reproduce(EXPERIMENT, settings(), out)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["file", "full", "thesis.tex"]


@pytest.mark.parametrize("name", ["results.json", "sweep.json"])
@pytest.mark.parametrize("content", ["", "{", "7", '[{"a": 1}]', "{}"])
def test_damaged_results(tmp_path, name, content):
    sound = {"sweep.json": json.dumps({"settings": settings().as_json()}), "results.json": "[]"}
    for file, text in {**sound, name: content}.items():
        (tmp_path / file).write_text(text)
    with pytest.raises(ValueError, match=rf"{name}.*(is damaged|not a list of runs)"):
        Results.read(tmp_path)
    if name == "sweep.json" and content != "{}":
        with pytest.raises(ValueError, match=r"sweep.json is damaged"):
            reproduce(EXPERIMENT, settings(), tmp_path)
    assert (tmp_path / name).read_text() == content


def test_no_results(tmp_path):
    with pytest.raises(ValueError, match="has no results"):
        Results.read(tmp_path)


def test_two_sweeps_at_once(tmp_path):
    store = Store(tmp_path)
    store.open(settings().as_json())
    with (
        store.lock(),
        pytest.raises(ValueError, match="Another process is working in"),
    ):
        reproduce(EXPERIMENT, settings(), tmp_path)
