"""Worker processes on this machine, which run groups."""

import contextlib
import os
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from shootax import _checks as checks
from shootax.sweeps._engine import AbstractEngine, AbstractPool, Event, task
from shootax.sweeps._environment import thread_environment
from shootax.sweeps._plan import Group, Sweep
from shootax.sweeps._protocol import Worker
from shootax.sweeps._store import Store

# Not with `-m`, which warns because the package has already imported the module.
COMMAND = (sys.executable, "-c", "from shootax.sweeps._serving import main; main()")


class LocalEngine(AbstractEngine):
    """Processes on this machine, each with one CPU thread.

    JAX chooses the device as usual. Several processes can share a GPU.
    """

    def __init__(self, jobs: int = 1):
        """**Arguments:**

        - `jobs`: the number of processes.
        """
        self.jobs = checks.positive_integer(jobs, "jobs")

    @contextlib.contextmanager
    def started(self) -> Iterator["LocalPool"]:
        pool = LocalPool(self.jobs)
        try:
            yield pool
        finally:
            pool.close()


class LocalPool(AbstractPool):
    """`jobs` processes, each started when it is first needed."""

    def __init__(self, jobs: int):
        environment = thread_environment(os.environ, 1, jobs=jobs)
        self._workers = [Worker(COMMAND, environment) for _ in range(jobs)]

    def close(self) -> None:
        """Kill the processes."""
        for worker in self._workers:
            worker.close()

    def run(
        self, sweep: Sweep, groups: Sequence[Group], store: Store, checkpoint_seconds: float
    ) -> Iterator[Event]:
        """Run all groups and yield events as they happen.

        If a worker dies, its group fails. The worker is replaced, and the others continue.
        """
        waiting: queue.SimpleQueue[Group] = queue.SimpleQueue()
        for group in groups:
            waiting.put(group)
        events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
        folder = str(store.folder.resolve())

        def serve(worker: Worker) -> None:
            try:
                while True:
                    try:
                        group = waiting.get_nowait()
                    except queue.Empty:
                        return
                    events.put(Event("begin", group, None))
                    worker.send({**task(sweep, group, checkpoint_seconds), "folder": folder})
                    events.put(_last(worker, group, events))
            except BaseException as error:  # a bug in this module must not hang the sweep
                events.put(error)
            finally:
                events.put(None)

        going = min(len(self._workers), len(groups))
        for worker in self._workers[:going]:
            threading.Thread(target=serve, args=(worker,), daemon=True).start()
        finished = False
        try:
            while going:
                event = events.get()
                if isinstance(event, BaseException):
                    raise event
                if event is None:
                    going -= 1
                else:
                    yield event
            finished = True
        finally:
            if not finished:  # an interruption ends what is running
                self.close()


def _last(worker: Worker, group: Group, events: Any) -> Event:
    """Forward the messages of a worker about a group, and return how the group ended."""
    for message in worker.messages():
        if "runs" in message:
            return Event("runs", group, message["runs"])
        if "gone" in message:
            return Event("gone", group, None)
        if "ended" in message:
            return Event("died", group, f"The process of this run ended with {message['ended']}.")
        events.put(Event("progress", group, message))
    return Event("died", group, "The sweep was interrupted.")
