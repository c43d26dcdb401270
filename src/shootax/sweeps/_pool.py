"""Worker processes, and the groups that they are given."""

import dataclasses
import os
import queue
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from shootax.sweeps._environment import thread_environment
from shootax.sweeps._plan import Group, Sweep
from shootax.sweeps._protocol import Worker
from shootax.sweeps._store import Store

COMMAND = (sys.executable, "-m", "shootax.sweeps._serving")


class Event(NamedTuple):
    """What happens to a group: `begin`, `progress`, `runs`, `died` or `gone`."""

    kind: str
    group: Group
    value: Any


def run_groups(
    sweep: Sweep, groups: Sequence[Group], store: Store, jobs: int, checkpoint_seconds: float
) -> Iterator[Event]:
    """Runs all groups, so many at a time, and reports what happens as it does.

    A worker that dies takes its group with it and is replaced; the others go on.
    """
    waiting: queue.SimpleQueue[Group] = queue.SimpleQueue()
    for group in groups:
        waiting.put(group)
    events: queue.SimpleQueue[Event | BaseException | None] = queue.SimpleQueue()
    count = min(jobs, len(groups))
    workers = [Worker(COMMAND, thread_environment(os.environ, 1, jobs=count)) for _ in range(count)]

    def serve(worker: Worker) -> None:
        try:
            while True:
                try:
                    group = waiting.get_nowait()
                except queue.Empty:
                    return
                events.put(Event("begin", group, None))
                worker.send(_task(sweep, group, store, checkpoint_seconds))
                events.put(_last(worker, group, events))
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


def _last(worker: Worker, group: Group, events: Any) -> Event:
    """Passes on what a worker says of a group, and returns how it ended."""
    for message in worker.messages():
        if "runs" in message:
            return Event("runs", group, message["runs"])
        if "gone" in message:
            return Event("gone", group, None)
        if "ended" in message:
            return Event("died", group, f"The process of this run ended with {message['ended']}.")
        events.put(Event("progress", group, message))
    return Event("died", group, "The sweep was interrupted.")


def _task(sweep: Sweep, group: Group, store: Store, checkpoint_seconds: float) -> dict[str, Any]:
    return {
        "function": sweep.function,
        "path": sys.path,  # what the parent can import, its workers can
        "group": dataclasses.asdict(group),
        "folder": str(store.folder.resolve()),
        "options": {
            "together": sweep.together,
            "shared": sweep.shared,
            "checkpoint_seconds": checkpoint_seconds,
        },
    }
