"""One process of a sweep: gets groups as lines of JSON, trains them, stores what comes of them.

It speaks to the process that started it in lines of JSON, and ends with it.
"""

import contextlib
import json
import math
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import shootax
from shootax.errors import DivergedError
from shootax.sweeps.plan import AbstractExperiment, Configuration, Group, Settings
from shootax.sweeps.store import Store, entry
from shootax.train import Checkpoint

Say = Callable[[dict[str, Any]], None]


def run_group(
    experiment: AbstractExperiment,
    settings: Settings,
    group: Group,
    store: Store,
    say: Say,
    every: float = 30.0,
) -> list[dict[str, Any]]:
    """Trains and measures a group, with a checkpoint every so many seconds, and stores it all."""

    def show(done: int, text: str) -> None:
        say({"done": done, "total": settings.epochs, "text": text})

    checkpoint, began = Checkpoint(store.checkpoint(group), every), time.process_time()
    outcomes = experiment.train(
        settings, group.configuration, group.seeds, checkpoint=checkpoint, progress=show
    )
    # On a machine with other work this says more than the time on the wall; it includes compilation.
    spent = time.process_time() - began
    runs = []
    for seed, outcome in zip(group.seeds, outcomes, strict=True):
        diverged = isinstance(outcome, DivergedError)
        fit = outcome.result if diverged else outcome
        run = entry(settings, group.configuration, seed)
        run["seconds"] = fit.seconds / len(group.seeds)
        run["processor_seconds"] = spent / len(group.seeds)
        run["epochs"] = len(fit.history["objective"])
        if diverged:
            run |= {"status": "diverged", "reason": str(outcome)}
        else:
            say({"text": f"measuring seed {seed}"})
            try:
                measured = experiment.evaluate(settings, group.configuration, fit.net)
                name = f"{group.configuration.name}-s{seed}.safetensors"
                record = {"seed": seed, "seconds": fit.seconds, "history": _columns(fit.history)}
                shootax.save(store.models / name, fit.net, record=record)
                run |= {**measured, "model": f"models/{name}", "status": "ok"}
            except Exception as error:
                run |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
        runs.append({key: _plain(value) for key, value in run.items()})
    store.write_group(group, runs)
    return runs


def _plain(value: Any) -> Any:
    """A number that JSON can hold; what is not finite is not a measurement."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    number = float(value)
    return number if math.isfinite(number) else None


def _columns(history: Mapping[str, Any]) -> dict[str, list[float | None]]:
    """How a training went, epoch by epoch, to five digits."""
    columns = {name: [_plain(value) for value in column] for name, column in history.items()}
    return {
        name: [None if value is None else float(f"{value:.5g}") for value in column]
        for name, column in columns.items()
        if any(value is not None for value in column)
    }


def main() -> None:
    """Serves one group after the other until its input ends."""
    from shootax.experiments import EXPERIMENTS

    # Whatever prints to standard output must not come between the lines of JSON.
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def say(message: dict[str, Any]) -> None:
        print(json.dumps(message), file=out, flush=True)

    tasks: queue.Queue[dict[str, Any]] = queue.Queue()

    def listen() -> None:
        for line in sys.stdin:
            tasks.put(json.loads(line))
        os._exit(
            0
        )  # the sweep is over or was killed: nothing more is wanted, and all files are whole

    threading.Thread(target=listen, daemon=True).start()
    with contextlib.suppress(OSError):  # without a place to write to, programs are compiled anew
        shootax.use_compilation_cache()
    while True:
        task = tasks.get()
        settings = Settings.from_json(task["settings"])
        group = Group(Configuration(**task["configuration"]), tuple(task["seeds"]))
        try:
            experiment = EXPERIMENTS[settings.experiment]
            store = Store(task["folder"])
            runs = run_group(experiment, settings, group, store, say, task["checkpoint_seconds"])
            say({"runs": runs})
        except Exception as error:
            traceback.print_exc()
            say({"error": f"{type(error).__name__}: {error}"})


if __name__ == "__main__":
    main()
