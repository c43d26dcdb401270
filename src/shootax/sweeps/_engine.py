"""Where the groups of a sweep run: on this machine, or on a cluster."""

import abc
import contextlib
import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from shootax.sweeps._plan import Group, Sweep
from shootax.sweeps._store import Store


class Event(NamedTuple):
    """An event of a group: `begin`, `progress`, `runs`, `died` or `gone`."""

    kind: str
    group: Group
    value: Any


class AbstractPool(abc.ABC):
    """Running workers that accept groups."""

    @abc.abstractmethod
    def run(
        self, sweep: Sweep, groups: Sequence[Group], store: Store, checkpoint_seconds: float
    ) -> Iterator[Event]:
        """Run all groups and yield events as they happen. A group whose event is `runs` is already
        stored."""


class AbstractEngine(abc.ABC):
    """Where the groups of a sweep run: [`shootax.sweeps.LocalEngine`][] or
    [`shootax.sweeps.RayEngine`][]."""

    @abc.abstractmethod
    def started(self) -> contextlib.AbstractContextManager[AbstractPool]:
        """A context manager that starts the workers and ends them on exit."""


Engine = AbstractEngine | Literal["local", "ray"]


def task(sweep: Sweep, group: Group, checkpoint_seconds: float) -> dict[str, Any]:
    """The JSON-serialisable message that tells a worker to run a group."""
    return {
        "function": sweep.function,
        "path": sys.path,  # workers can import whatever the parent can
        "group": dataclasses.asdict(group),
        "options": {
            "together": sweep.together,
            "shared": sweep.shared,
            "checkpoint_seconds": checkpoint_seconds,
        },
    }
