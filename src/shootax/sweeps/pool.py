"""Worker processes, each with one thread, and the groups they are given."""

import dataclasses
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from shootax.sweeps.plan import Group, Settings
from shootax.sweeps.store import Store


class Event(NamedTuple):
    """What a worker says of a group: `begin`, `progress`, `runs` or `error`."""

    kind: str
    group: Group
    value: Any


def environment() -> dict[str, str]:
    """The variables of a worker: one thread on the processor, whatever library it belongs to."""
    names = ("NPROC", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    flag = "--xla_cpu_multi_thread_eigen=false"
    flags = [*os.environ.get("XLA_FLAGS", "").split(), flag]
    here = {"JAX_PLATFORMS": "cpu", "XLA_FLAGS": " ".join(dict.fromkeys(flags))}
    return {**os.environ, **dict.fromkeys(names, "1"), **here}


def run_groups(
    settings: Settings, groups: Sequence[Group], store: Store, jobs: int, checkpoint_seconds: float
) -> Iterator[Event]:
    """Runs all groups, so many at a time, and reports what happens as it does.

    A worker that dies takes its group with it and is replaced; the others go on.
    """
    waiting: queue.SimpleQueue[Group] = queue.SimpleQueue()
    for group in groups:
        waiting.put(group)
    events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    count = min(jobs, len(groups))
    workers = [_Worker(settings, store, checkpoint_seconds) for _ in range(count)]

    def serve(worker: _Worker) -> None:
        try:
            while True:
                try:
                    group = waiting.get_nowait()
                except queue.Empty:
                    return
                events.put(Event("begin", group, None))
                for event in worker.run(group):
                    events.put(event)
        except BaseException as error:  # a mistake of this module must not hang the sweep
            events.put(error)
        finally:
            worker.close()
            events.put(None)

    for worker in workers:
        threading.Thread(target=serve, args=(worker,), daemon=True).start()
    going = len(workers)
    try:
        while going:
            event = events.get()
            if isinstance(event, BaseException):
                raise event
            if event is None:
                going -= 1
            else:
                yield event
    finally:
        for worker in workers:
            worker.close()


class _Worker:
    def __init__(self, settings: Settings, store: Store, checkpoint_seconds: float):
        self.settings, self.store = settings, store
        self.checkpoint_seconds = checkpoint_seconds
        self.process: subprocess.Popen[str] | None = None
        self.closed = False

    def run(self, group: Group) -> Iterator[Event]:
        process = self._started()
        task = {
            "settings": self.settings.as_json(),
            "configuration": dataclasses.asdict(group.configuration),
            "seeds": list(group.seeds),
            "folder": str(self.store.folder),
            "checkpoint_seconds": self.checkpoint_seconds,
        }
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            for line in process.stdout:
                message = json.loads(line)
                if "runs" in message:
                    yield Event("runs", group, message["runs"])
                    return
                if "error" in message:
                    yield Event("error", group, message["error"])
                    return
                yield Event("progress", group, message)
        except BrokenPipeError:
            pass
        code = process.wait()
        self.process = None
        if not self.closed:
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            yield Event("error", group, f"The process that trained it ended with {how}.")

    def _started(self) -> "subprocess.Popen[str]":
        if self.process is None:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "shootax.sweeps.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=environment(),
                # An interrupt from the keyboard is for the sweep alone, which then ends its workers.
                start_new_session=True,
            )
        return self.process

    def close(self) -> None:
        self.closed = True
        if self.process is not None and self.process.poll() is None:
            self.process.kill()  # all its files are whole at any moment
            self.process.wait()
