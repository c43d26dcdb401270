"""Several real processes on the loopback address train together."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import jax
import numpy as np
import pytest

import shootax as sx
from shootax._train.hosts import several

HERE = pathlib.Path(__file__).parent


def start(processes, out, *more):
    """The processes, which have begun."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(sx.__file__).parents[1])}
    script = [sys.executable, str(HERE / "on_hosts.py")]
    return [
        subprocess.Popen(
            [*script, str(i), str(processes), str(port), str(out), *map(str, more)],
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for i in range(processes)
    ]


def histories(processes, out, *more):
    """What the training of so many processes reports."""
    running = start(processes, out, *more)
    words = [each.communicate(timeout=600)[0] for each in running]
    assert all(each.returncode == 0 for each in running), "\n".join(words)[-4000:]
    return json.loads(out.read_text())


def same(first, second):
    for name, column in first.items():
        np.testing.assert_allclose(column, second[name], rtol=1e-9, err_msg=name)


def test_two_processes_are_several(monkeypatch):
    assert not several()
    monkeypatch.setattr(jax, "process_count", lambda: 2)
    assert several()


def test_two_processes_train_as_one(tmp_path):
    same(histories(1, tmp_path / "one"), histories(2, tmp_path / "two"))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrays", "stream"])
def test_four_processes_train_as_one(tmp_path, kind):
    alone = histories(1, tmp_path / "one", "-", 4, kind)
    same(alone, histories(4, tmp_path / "four", "-", 4, kind))


@pytest.mark.slow
def test_a_killed_process_ends_the_others_and_two_resume_where_four_were(tmp_path):
    out, checkpoint, epochs = tmp_path / "four", tmp_path / "state", 100_000
    running = start(4, out, checkpoint, epochs)
    reached = out.with_suffix(".epoch")
    try:
        deadline = time.monotonic() + 400
        while not (reached.exists() and int(reached.read_text() or 0) >= 3):
            assert time.monotonic() < deadline
            assert all(each.poll() is None for each in running)
            time.sleep(0.2)
        running[3].kill()
        killed = time.monotonic()
        words = [each.communicate(timeout=60)[0] for each in running[:3]]
        assert time.monotonic() - killed < 60
        assert all(each.returncode != 0 for each in running[:3])
        told = ("Connection closed by peer", "unhealthy", "heartbeat", "UNAVAILABLE", "Gloo")
        assert any(word in text for text in words for word in told), "\n".join(words)[-3000:]
        for text in words:  # JAX may also end a process by itself, before any error is raised
            ours = "another process of this training has ended or does not respond"
            assert ours in text or "JaxRuntimeError" not in text, text[-3000:]
    finally:
        for each in running:
            each.kill()
    # Again with as many epochs as it had would take too long: what counts is that it is taken up.
    before = int(reached.read_text())
    again = start(2, tmp_path / "two", checkpoint, epochs)
    second = (tmp_path / "two").with_suffix(".epoch")
    try:
        deadline = time.monotonic() + 400
        while not second.exists() or not second.read_text():
            assert time.monotonic() < deadline
            assert all(each.poll() is None for each in again), again[0].communicate()[0][-3000:]
            time.sleep(0.2)
        assert int(second.read_text()) >= before
    finally:
        for each in again:
            each.kill()
