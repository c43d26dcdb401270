"""A worker process of a sweep, which calls the function for one group after another."""

import contextlib
import functools
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import shootax
from shootax import DivergedError
from shootax.sweeps._context import Context
from shootax.sweeps._plain import plain
from shootax.sweeps._plan import Group
from shootax.sweeps._protocol import Channel
from shootax.sweeps._reference import resolve
from shootax.sweeps._store import STATUSES, Run, Store, failed

Say = Callable[[dict[str, Any]], None]


def run_group(
    function: Callable[..., Any],
    group: Group,
    store: Store,
    say: Say,
    *,
    together: bool,
    shared: dict[str, Any],
    checkpoint_seconds: float,
) -> list[Run]:
    """Call the function and store the runs of the group."""
    ctx = Context(
        store.checkpoint(group), shared, store.folder, group.name, checkpoint_seconds, say
    )
    began, began_processor = time.monotonic(), time.process_time()
    try:
        if together:
            returned = function(dict(group.config), list(group.seeds), ctx)
        else:
            returned = [function(dict(group.config), group.seeds[0], ctx)]
    except DivergedError as error:
        returned = [{"status": "diverged", "reason": str(error)} for _ in group.seeds]
    results = _checked(returned, group)
    # On a busy machine, processor time means more than wall-clock time.
    spent = {
        "seconds": (time.monotonic() - began) / len(group.seeds),
        "processor_seconds": (time.process_time() - began_processor) / len(group.seeds),
    }
    runs = [
        _run(group, seed, {**spent, **result})
        for seed, result in zip(group.seeds, results, strict=True)
    ]
    store.write_group(group, runs)
    return runs


def _checked(returned: Any, group: Group) -> list[Mapping[str, Any]]:
    if not isinstance(returned, list | tuple) or len(returned) != len(group.seeds):
        raise TypeError(
            f"The function must return a list of {len(group.seeds)} dictionaries, one per seed; "
            f"got {returned!r:.100}."
        )
    for result in returned:
        if not isinstance(result, Mapping):
            raise TypeError(
                f"The function must return a dictionary of results, got {result!r:.100}."
            )
        if result.get("status", "ok") not in STATUSES:
            raise ValueError(
                f"The status of a run must be one of {', '.join(STATUSES)}; got "
                f"{result['status']!r}."
            )
    return list(returned)


def _run(group: Group, seed: int, result: Mapping[str, Any]) -> Run:
    """A run with all its columns. The values of the sweep are not overwritten."""
    requested = {**group.config, "seed": seed}
    entries = plain(result)
    for name in requested.keys() & entries.keys():
        value = entries.pop(name)
        if value != requested[name]:
            entries[f"result_{name}"] = value
    return {**requested, "status": "ok", "reason": None, **entries}


def perform(task: Mapping[str, Any], store: Store, say: Say) -> list[Run] | None:
    """Run a task and store its runs, failed or not. Return `None` if the folder is gone."""
    group = Group(**{**task["group"], "seeds": tuple(task["group"]["seeds"])})
    try:
        return run_group(_function(task["function"]), group, store, say, **task["options"])
    except Exception as error:
        if not store.exists():
            return None
        traceback.print_exc()
        runs = failed(group, f"{type(error).__name__}: {error}")
        store.write_group(group, runs)
        return runs


@functools.cache
def _function(name: str) -> Callable[..., Any]:
    with contextlib.suppress(OSError):  # without a cache, programs are compiled again
        shootax.use_compilation_cache()
    return resolve(name)


def main() -> None:
    """Perform one task after another until the parent ends."""
    channel = Channel()
    for task in channel.tasks():
        sys.path[:] = task["path"]
        runs = perform(task, Store(task["folder"]), channel.say)
        channel.say({"gone": True} if runs is None else {"runs": runs})
