"""What happens around Ray, without a cluster: the calls that would go to other machines are made here."""

import sys
import types

import pytest

from shootax.sweeps import Store, grid_sweep
from shootax.sweeps._engine import task
from shootax.sweeps._ray import _common, _events, _hand_over
from shootax.sweeps._ray_worker import Board, serve

# It takes what a predecessor has left, leaves a checkpoint and a file, and may remove its folder.
MODULE = """
import shutil


def train(config, seed, ctx):
    before = ctx.checkpoint.read_text() if ctx.checkpoint.exists() else ""
    ctx.checkpoint.write_text("after")
    (ctx.out / "models").mkdir(exist_ok=True)
    (ctx.out / "models" / "net.txt").write_text(ctx.name)
    if config["x"] == 1:
        raise MemoryError("too large")
    if config["x"] == 2:
        shutil.rmtree(ctx.out)
        raise OSError("no folder")
    return {"before": before}
"""


class RayError(Exception):
    """Stands in for that of Ray."""


class Near:
    """A board on this machine: `board.say.remote(...)` is a call."""

    def __init__(self):
        self.real = Board()

    def __getattr__(self, name):
        return types.SimpleNamespace(remote=getattr(self.real, name))


@pytest.fixture
def ray(monkeypatch):
    """A module whose references are results, or errors that it raises."""
    made, errors = types.ModuleType("ray"), types.ModuleType("ray.exceptions")
    made.exceptions, errors.RayError = errors, RayError

    def get(reference, timeout=None):
        if isinstance(reference, Exception):
            raise reference
        return reference

    made.get = get
    monkeypatch.setitem(sys.modules, "ray", made)
    monkeypatch.setitem(sys.modules, "ray.exceptions", errors)
    return made


@pytest.fixture
def sweep(tmp_path, monkeypatch):
    (tmp_path / "near_study.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    return grid_sweep("near_study:train", {"x": [0, 1, 2]})


def served(sweep, group, board):
    return serve({**task(sweep, group, 1), **_common(sweep)}, board)


def test_a_group_on_another_machine(ray, sweep, tmp_path):
    good, bad, gone = sweep.groups
    board, store = Near(), Store(tmp_path / "out")
    store.open({})
    store.checkpoint(good).write_text("before")
    _hand_over(store, sweep.groups, board)
    found = served(sweep, good, board)
    assert [(run["status"], run["before"]) for run in found["runs"]] == [("ok", "before")]
    assert found["files"] == {"models/net.txt": good.name.encode()}
    assert found["checkpoint"] is None, "that of a finished group is removed"
    assert board.real.news()[1] == [(good.name, {"text": "started"})]

    found = served(sweep, bad, board)
    assert [run["reason"] for run in found["runs"]] == ["MemoryError: too large"]
    assert found["checkpoint"] == {"": b"after"}

    found = served(sweep, gone, board)
    assert [run["status"] for run in found["runs"]] == ["failed"]
    assert "of this run was removed on its machine" in found["runs"][0]["reason"]

    other = {**task(sweep, good, 1), **_common(sweep), "versions": {"numpy": "0.1"}}
    assert "different versions" in serve(other, board)["runs"][0]["reason"]


class Renewed(Near):
    """A board whose third answer is that of one made anew, and which notes when it is complete."""

    def __init__(self):
        super().__init__()
        self.asked, self.completed = 0, []

    def __getattr__(self, name):
        self.asked += name == "news"
        if name == "news" and self.asked == 3:
            self.real = Board()
        if name == "complete":
            self.completed.append(self.asked)
        return super().__getattr__(name)


def test_what_the_driver_sees_and_writes(ray, sweep, tmp_path):
    """Also: a board that was made anew gets the checkpoints once more, and another one does not."""
    good, bad, _ = sweep.groups
    board, store = Renewed(), Store(tmp_path / "out")
    store.open({})
    board.real.say(good.name, {"text": "half"})
    board.real.keep(bad.name, {"": b"state"})
    runs = [{"x": 0, "seed": 0, "status": "ok", "reason": None}]
    results = {
        "first": {"runs": runs, "files": {"models/a.txt": b"a"}, "checkpoint": None},
        "second": RayError("\n the node died \n"),
    }
    get = ray.get
    ray.get = lambda reference, timeout=None: get(
        results[reference] if isinstance(reference, str) else reference
    )
    ready = iter([[], [], ["first"], ["second"]])
    ray.wait = lambda references, **_: (next(ready), references)
    pending = {"first": good, "second": bad}
    assert [tuple(event) for event in _events(ray, board, pending, store)] == [
        ("begin", good, None),
        ("progress", good, {"text": "half"}),
        ("runs", good, runs),
        ("begin", bad, None),
        ("died", bad, "Ray gave up on this run: RayError: the node died"),
    ]
    assert board.completed == [3]
    assert pending == {}
    assert (tmp_path / "out" / "models" / "a.txt").read_text() == "a"
    assert store.checkpoint(bad).read_text() == "state"
    assert list(store.finished([good, bad])) == [good.name]
