"""Processes that are started, watched and killed.

They are forked from a process that has imported everything and has not used JAX yet. So a start is
cheap, and hundreds of kills take only minutes.
"""

import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

PATIENCE = 300.0
"""Seconds after which a job that should end counts as hanging."""


class Job:
    """A function of a folder that runs in its own process."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, log: pathlib.Path):
        self.began, self.code = time.monotonic(), None
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _in_child(function, arguments, log)

    def is_alive(self) -> bool:
        """Whether the job is still running."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code is None

    def send(self, number: int) -> bool:
        """Send a signal if the job is still running; return whether it was sent."""
        if not self.is_alive():
            return False
        os.kill(self.pid, number)
        return True

    def wait(self, seconds: float = PATIENCE) -> int:
        """Wait for the exit code. A job that hangs is killed, and its code is 124."""
        limit = time.monotonic() + seconds
        while self.is_alive():
            if time.monotonic() > limit:
                for pid in children(self.pid):
                    _kill(pid)
                self.send(signal.SIGKILL)
                os.waitpid(self.pid, 0)
                self.code = 124
            time.sleep(0.005)
        assert self.code is not None
        return self.code


def _in_child(function: Callable[..., Any], arguments: Any, log: pathlib.Path) -> None:
    code = 1
    try:
        # A shell makes its background jobs ignore Ctrl-C, and this process would inherit that.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(handle, 1)
        os.dup2(handle, 2)
        function(*arguments)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(Exception):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def children(pid: int) -> list[int]:
    """The processes that a process has started."""
    listed = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    with contextlib.suppress(OSError):
        found = {int(number) for number in listed.read_text().split()}
        for task in pathlib.Path(f"/proc/{pid}/task").iterdir():  # a thread may have started it
            found |= {int(number) for number in (task / "children").read_text().split()}
        return sorted(found)
    lines = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False
    ).stdout.splitlines()
    pairs = [line.split() for line in lines]
    return [int(mine) for mine, parent in pairs if int(parent) == pid]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def kill_worker(job: Job) -> bool:
    """Kill a process that the job has started, if there is one; return whether there was one."""
    workers = children(job.pid) if job.is_alive() else []
    for pid in workers[:1]:
        _kill(pid)
    return bool(workers)


def is_running(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    state = pathlib.Path(f"/proc/{pid}/stat")
    try:
        return ") Z" not in state.read_text()
    except OSError:
        return not state.parent.parent.exists()
