"""The parts of a sweep one by one, without processes."""

import os
import pathlib
import time

import numpy as np
import pytest

from shootax.sweeps import Group, Store, available_cores, grid_sweep, thread_environment
from shootax.sweeps import _store as store_module
from shootax.sweeps._plain import plain
from shootax.sweeps._serving import run_group

GROUP = Group("x-2-s0-1", "x=2", {"x": 2}, (0, 1))


def one(config, seed, ctx):
    """Stands in for a user's function."""
    return {"value": seed}


@pytest.fixture
def store(tmp_path):
    made = Store(tmp_path / "out")
    made.open({"a": 1})
    return made


def call(function, store, group=GROUP):
    return run_group(
        function, group, store, lambda message: None, together=True, shared={}, checkpoint_seconds=1
    )


def test_checkpoint_outlives_results_that_could_not_be_written(store, monkeypatch):
    checkpoint = store.checkpoint(GROUP)
    checkpoint.write_text("state")

    def full(path, value):
        raise OSError("No space left on device")

    def train(config, seeds, ctx):
        return [{"value": seed} for seed in seeds]

    with monkeypatch.context() as patched:
        patched.setattr(store_module, "write_json", full)
        with pytest.raises(OSError, match="No space"):
            call(train, store)
    assert checkpoint.read_text() == "state"
    call(train, store)
    assert not checkpoint.exists()
    assert list(store.finished([GROUP])) == [GROUP.name]


def test_group_with_a_failed_run_is_not_finished_and_keeps_its_checkpoint(store):
    def train(config, seeds, ctx):
        ctx.checkpoint.mkdir(exist_ok=True)  # a folder may be a checkpoint, too
        (ctx.checkpoint / "state").write_text("state")
        return [{"value": 1}, {"status": status, "reason": "no memory"}]

    status = "failed"
    runs = call(train, store)
    assert [run["status"] for run in runs] == ["ok", "failed"]
    assert store.finished([GROUP]) == {}
    assert store.checkpoint(GROUP).exists()
    status = "diverged"
    call(train, store)
    assert list(store.finished([GROUP])) == [GROUP.name]
    assert not store.checkpoint(GROUP).exists()


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        ([{"value": 1}], "list of 2 dictionaries"),
        ([1, 2], "dictionary of results, got 1"),
        ([{}, {"status": "fine"}], "one of ok, diverged, failed; got 'fine'"),
        ([{}, {"model": object()}], "got object"),
    ],
)
def test_functions_that_return_something_else(store, returned, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(lambda config, seeds, ctx: returned, store)
    assert not list(store.runs.iterdir())


def test_results_do_not_overwrite_what_was_asked_for(store):
    runs = call(lambda config, seeds, ctx: [{"x": 2, "seed": 9}, {"x": 3}], store)
    assert [(run["x"], run["seed"]) for run in runs] == [(2, 0), (2, 1)]
    assert runs[0]["result_seed"] == 9
    assert "result_x" not in runs[0]
    assert runs[1]["result_x"] == 3


def test_the_time_of_a_group_is_shared_by_its_runs(store):
    def train(config, seeds, ctx):
        time.sleep(0.05)
        return [{} for _ in seeds]

    began = time.monotonic()
    runs = call(train, store)
    over = time.monotonic() - began
    assert runs[0]["seconds"] == runs[1]["seconds"] >= 0.025
    assert runs[0]["seconds"] + runs[1]["seconds"] <= over
    assert 0 <= runs[0]["processor_seconds"] <= 2 * over


def test_plain_values():
    import jax.numpy as jnp

    value = {"a": jnp.float32(0.5), 1: (np.int64(3), np.bool_(True)), "b": [np.nan, -np.inf]}
    got = plain({**value, "path": pathlib.Path("a"), "array": jnp.ones((1, 2), "bfloat16")})
    expected = {"a": 0.5, "1": [3, True], "b": [None, None], "path": "a", "array": [[1.0, 1.0]]}
    assert got == expected
    assert type(got["1"][1]) is bool


def test_groups_of_a_grid():
    sweep = grid_sweep(one, {"rate": [0.1, 1], "net": ["A b", "A_b"]}, seeds=5, together=2)
    assert len(sweep.groups) == 2 * 2 * 3
    assert [group.seeds for group in sweep.groups[:3]] == [(0, 1), (2, 3), (4,)]
    names = [group.name for group in sweep.groups]
    assert len({name.lower() for name in names}) == len(names)
    assert all(" " not in name and "/" not in name for name in names)
    listed = grid_sweep(one, [{"x": 1}, {"x": 2, "y": 3}], seeds=[7])
    assert [group.name for group in listed.groups] == ["x-1-s7", "x-2-y-3-s7"]


def test_grids_that_will_not_do():
    def nested(config, seed, ctx):
        return {}

    for arguments, message in (
        ((nested, {"x": [1]}), "cannot import .*nested"),
        ((lambda config, seed, ctx: {}, {"x": [1]}), "at the top level of a module"),
        (("nowhere_at_all:train", {"x": [1]}), "Cannot import 'nowhere_at_all:train'"),
        (("json:train", {"x": [1]}), "json has no function 'train'"),
        (("train", {"x": [1]}), "as 'module:name', got 'train'"),
        ((one, {"x": 4}), r"grid\['x'\] must be a list of values to try, got 4"),
        ((one, {"x": "auto"}), r"Write \['auto'\]"),
        ((one, {"seed": [1]}), "'seed' is a column of every sweep"),
        ((one, {"x": [1, 1]}), "got 'x-1-s0' twice"),
        ((one, {"x": []}), "leave no configuration"),
        ((one, {"x": [object()]}), "must be JSON-serialisable"),
        ((one, {"x": [float("nan")]}), "must be JSON-serialisable"),
    ):
        with pytest.raises(ValueError, match=message):
            grid_sweep(*arguments)
    with pytest.raises(ValueError, match="distinct whole numbers"):
        grid_sweep(one, {"x": [1]}, seeds=[1, 1])
    with pytest.raises(TypeError, match="Each configuration must be a dictionary, got 3"):
        grid_sweep(one, [3])


def test_folder_of_another_sweep_is_left_alone(store):
    before = {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")}
    with pytest.raises(ValueError, match=r"other settings \(a: there 1, here 2\).*--out"):
        store.open({"a": 2})
    assert {path: path.stat().st_mtime_ns for path in store.folder.rglob("*")} == before


def test_one_lock_for_a_folder(store):
    def take_both():
        with store.lock(), Store(store.folder).lock():
            pass

    with pytest.raises(ValueError, match="Another process is working in"):
        take_both()
    with store.lock():  # it was released
        pass


def test_folder_that_cannot_be_locked_is_used_with_a_warning(store, monkeypatch):
    import errno

    from shootax.sweeps import _lock

    def refuse(file):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(_lock, "_take", refuse)
    with pytest.warns(UserWarning, match="cannot be locked.*two sweeps"), store.lock():
        pass


def test_environment_of_a_worker():
    one = thread_environment({"XLA_FLAGS": "--a"}, 1)
    assert one["XLA_FLAGS"] == "--a --xla_cpu_multi_thread_eigen=false"
    assert one["OMP_NUM_THREADS"] == one["NPROC"] == "1"
    assert thread_environment(one, 1)["XLA_FLAGS"] == one["XLA_FLAGS"]
    assert "XLA_FLAGS" not in thread_environment({}, 2)


def test_the_device_is_left_to_the_user():
    key = "XLA_PYTHON_CLIENT_PREALLOCATE"
    assert not {"JAX_PLATFORMS", key} & thread_environment({}).keys()
    assert thread_environment({"JAX_PLATFORMS": "cuda"}, jobs=3)["JAX_PLATFORMS"] == "cuda"
    assert thread_environment({}, jobs=2)[key] == "false"
    assert thread_environment({key: "true"}, jobs=2)[key] == "true"


def test_cores_without_affinity(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert available_cores() == list(range(os.cpu_count() or 1))
