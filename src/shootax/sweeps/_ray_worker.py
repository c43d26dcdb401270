"""The cluster's side of a Ray engine: a process that runs a group, and the board, where running groups
leave progress and checkpoints for the driver and for the process that takes over if theirs dies."""

import contextlib
import hashlib
import os
import pathlib
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from shootax.sweeps._parcel import Parcel, pack, signature, unpack
from shootax.sweeps._plan import Group
from shootax.sweeps._serving import perform
from shootax.sweeps._store import Store, failed, package_versions

LOOK_SECONDS = 1.0
ANSWER_SECONDS = 60.0
OWN = ("runs", "checkpoints", "sweep.json", "results.json", ".lock")
"""Names that the store writes. Everything else in the folder belongs to the function."""

_scripts: dict[str, str] = {}


class Board:
    """An actor with the latest messages and checkpoints of the groups that are running."""

    def __init__(self):
        self._born = uuid.uuid4().hex  # changes if the actor restarts after its node has died
        self._messages: list[tuple[str, dict[str, Any]]] = []
        self._checkpoints: dict[str, Parcel] = {}
        self._changed: set[str] = set()
        self._complete = False

    def say(self, name: str, message: dict[str, Any]) -> None:
        self._messages.append((name, message))

    def keep(self, name: str, checkpoint: Parcel, news: bool = True) -> None:
        self._checkpoints[name] = checkpoint
        if news:
            self._changed.add(name)

    def complete(self) -> None:
        """Note that the driver has copied all its checkpoints here."""
        self._complete = True

    def latest(self, name: str) -> tuple[bool, Parcel | None]:
        """Whether the board is complete, and the checkpoint of a group."""
        return self._complete, self._checkpoints.get(name)

    def forget(self, name: str) -> None:
        self._checkpoints.pop(name, None)
        self._changed.discard(name)

    def news(self) -> tuple[str, list[tuple[str, dict[str, Any]]], dict[str, Parcel]]:
        """The id of this board, and all messages and checkpoints since the last call."""
        messages, self._messages = self._messages, []
        changed, self._changed = self._changed, set()
        return self._born, messages, {name: self._checkpoints[name] for name in changed}


def serve(task: Mapping[str, Any], board: Any) -> dict[str, Any]:
    """Run a group in a temporary folder, and return the runs with all files that it wrote."""
    group = Group(**{**task["group"], "seeds": tuple(task["group"]["seeds"])})
    board.say.remote(group.name, {"text": "started"})
    wrong = _other_versions(task["versions"])
    if wrong:
        return {"runs": failed(group, wrong), "files": {}, "checkpoint": None}
    sys.path.extend(p for p in task["path"] if p not in sys.path and os.path.isdir(p))
    with tempfile.TemporaryDirectory(prefix="shootax-") as folder:
        store = Store(folder)
        store.open({})
        place = store.checkpoint(group)
        unpack(_checkpoint(board, group.name), place)
        with _sent(place, lambda parcel: _get(board.keep.remote(group.name, parcel))):
            runs = perform(
                {**task, "function": _here(task["function"], task["script"])},
                store,
                lambda message: board.say.remote(group.name, message),
            )
        if runs is None:
            runs = failed(group, f"The folder {folder} of this run was removed on its machine.")
        left = pack(place) if place.exists() else None
        return {"runs": runs, "files": pack(store.folder, OWN), "checkpoint": left}


def _checkpoint(board: Any, name: str) -> Parcel:
    """The checkpoint left by a predecessor. If the board has just restarted, wait for the driver."""
    end = time.monotonic() + ANSWER_SECONDS
    while time.monotonic() < end:
        complete, found = _quietly(lambda: _get(board.latest.remote(name))) or (False, None)
        if complete or found:
            return found or {}
        time.sleep(0.2)
    return {}


def _get(reference: Any) -> Any:
    import ray

    return ray.get(reference, timeout=ANSWER_SECONDS)


def _quietly(call: Callable[[], Any]) -> Any:
    """The result of a call, or `None` if it fails: a run survives an unreachable board."""
    from ray.exceptions import RayError

    with contextlib.suppress(RayError):
        return call()
    return None


@contextlib.contextmanager
def _sent(place: pathlib.Path, send: Callable[[Parcel], Any]) -> Iterator[None]:
    """Send a checkpoint whenever it changes, so that another machine can resume from it."""
    over = threading.Event()

    def watch() -> None:
        sent = before = signature(place) if place.exists() else ()
        while not over.wait(LOOK_SECONDS):
            now = signature(place) if place.exists() else ()
            # The same signature twice: the file is not being written right now.
            if now and now == before and now != sent:
                with contextlib.suppress(OSError):  # replaced or removed during the read
                    parcel = pack(place)
                    if signature(place) == now:
                        _quietly(lambda parcel=parcel: send(parcel))
                        sent = now
            before = now

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _here(reference: str, script: str | None) -> str:
    """The reference on this machine. A script runs from its own path if it is identical there, and
    from a copy otherwise."""
    if script is None:
        return reference
    place, _, name = reference.rpartition(":")
    with contextlib.suppress(OSError, ValueError):
        if pathlib.Path(place).read_text(encoding="utf-8") == script:
            return reference
    digest = hashlib.sha256(script.encode()).hexdigest()
    if digest not in _scripts:
        copy = pathlib.Path(tempfile.mkdtemp(prefix="shootax-script-")) / pathlib.Path(place).name
        copy.write_text(script, encoding="utf-8")
        _scripts[digest] = str(copy)
    return f"{_scripts[digest]}:{name}"


def _other_versions(wanted: Mapping[str, str]) -> str:
    here = package_versions()
    other = [f"{k} {here.get(k)} (there {v})" for k, v in wanted.items() if here.get(k) != v]
    if not other:
        return ""
    return (
        f"A node of the cluster has different versions from the machine that started the sweep: "
        f"{', '.join(other)}. Install the same versions on all nodes, so that all runs are comparable."
    )
