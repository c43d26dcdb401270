"""A sweep from start to end, or from where it was interrupted."""

import os
from typing import Any

from rich.console import Console

from shootax import checks
from shootax.sweeps.display import display
from shootax.sweeps.plan import AbstractExperiment, Group, Settings, planned
from shootax.sweeps.pool import run_groups
from shootax.sweeps.store import Store, entry


def run_sweep(
    experiment: AbstractExperiment,
    settings: Settings,
    out: str | os.PathLike,
    *,
    jobs: int = 1,
    checkpoint_seconds: float = 30.0,
    console: Console | None = None,
) -> list[dict[str, Any]]:
    """Runs all that is not finished in the folder `out` yet, and returns the results of all.

    **Arguments:**

    - `experiment`: what to train.
    - `settings`: of the sweep. A folder with other settings is refused.
    - `out`: where results go, as they come.
    - `jobs`: the number of processes, each with one thread.
    - `checkpoint_seconds`: how often the state of a training is stored, to go on from.
    - `console`: where to show progress.
    """
    jobs = checks.positive_integer(jobs, "jobs")
    console = console or Console(stderr=True)
    store = Store(out)
    groups = planned(experiment, settings)
    if not groups:
        raise ValueError("There is nothing to train: these options leave no configuration.")
    store.open(settings)
    with store.lock():
        done = store.finished(groups)
        left = [group for group in groups if group.name not in done]
        runs = sum(len(group.seeds) for group in left)
        if done:
            finished = sum(len(group) for group in done.values())
            console.print(f"{finished} runs are finished, {runs} are left.", highlight=False)
        if left:
            with display(experiment.name, runs, console) as shown:
                for event in run_groups(settings, left, store, jobs, checkpoint_seconds):
                    if event.kind == "begin":
                        shown.begin(event.group)
                    elif event.kind == "progress":
                        shown.progress(event.group, event.value)
                    else:
                        ended = event.value
                        if event.kind == "error":
                            ended = _failed(settings, event.group, event.value)
                            store.write_group(event.group, ended)
                        shown.end(event.group, ended)
                        store.collect(groups)
        return store.collect(groups)


def _failed(settings: Settings, group: Group, reason: str) -> list[dict[str, Any]]:
    return [
        {**entry(settings, group.configuration, seed), "reason": reason} for seed in group.seeds
    ]
