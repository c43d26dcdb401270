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
    """What happens to a group: `begin`, `progress`, `runs`, `died` or `gone`."""

    kind: str
    group: Group
    value: Any


class AbstractPool(abc.ABC):
    """Workers that are running, to be given groups."""

    @abc.abstractmethod
    def run(
        self, sweep: Sweep, groups: Sequence[Group], store: Store, checkpoint_seconds: float
    ) -> Iterator[Event]:
        """Runs all groups, and reports what happens as it does. A group whose event is `runs` is
        stored already."""


class AbstractEngine(abc.ABC):
    """Runs the groups of a sweep: [`shootax.sweeps.LocalEngine`][] or
    [`shootax.sweeps.RayEngine`][]."""

    @abc.abstractmethod
    def started(self) -> contextlib.AbstractContextManager[AbstractPool]:
        """The workers, for as long as a `with` block runs."""


Engine = AbstractEngine | Literal["local", "ray"]


def task(sweep: Sweep, group: Group, checkpoint_seconds: float) -> dict[str, Any]:
    """What a worker has to know to run a group, as JSON can hold it."""
    return {
        "function": sweep.function,
        "path": sys.path,  # what the parent can import, its workers can
        "group": dataclasses.asdict(group),
        "options": {
            "together": sweep.together,
            "shared": sweep.shared,
            "checkpoint_seconds": checkpoint_seconds,
        },
    }
