"""Measure how much faster `fit` is with `sx.use_cores(2)` than on one core: image models and regression.

python benchmarks/two_cores.py [--epochs 8] [rotating-mnist] [rotating-mnist/swift] [regression-16] ...

An image model has the name of its experiment; a recipe other than the paper's follows after a slash.

Runs alternate, and the smallest times count. Other programs slow down two cores much more than one,
because the cores wait for each other. On a busy machine, put `chrt --fifo 1` before the command (as
root), so that nothing interrupts it.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from typing import Any

NAMES = (
    "rotating-mnist",
    "rotating-mnist/swift",
    "bouncing-balls",
    "regression-16",
    "regression-128",
)
SAMPLES = 100


def step_ms(name: str, cores: int, epochs: int) -> float:
    """The smallest time of a training step, in this process."""
    if cores == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import numpy as np

    import shootax as sx

    sx.use_cores(cores)
    net, data, options, steps = regression(name) if name[:3] == "reg" else images(name)
    ends: list[float] = []
    sx.fit(
        net,
        *data,
        epochs=epochs if steps < 10 else 10 * epochs,
        callbacks=[lambda report: ends.append(time.perf_counter())],
        progress=False,
        **options,
    )
    return 1000 * float(np.diff(ends).min()) / steps


def images(name: str) -> tuple[Any, tuple, dict[str, Any], int]:
    """The model, data and options of an experiment at the paper's size, with fewer sequences."""
    from shootax.paper import EXPERIMENTS, make_settings

    name, _, recipe = name.partition("/")
    experiment: Any = EXPERIMENTS[name]
    settings = make_settings(
        experiment, "paper", recipe or "paper", formulations=["dynamic-particles"]
    )
    settings = dataclasses.replace(settings, options={**settings.options, "training": SAMPLES})
    (configuration,) = experiment.configurations(settings)
    data, options = experiment.task(settings, configuration)
    batch = experiment.batch_size(settings)
    kept = {"optimizer": options["optimizer"], "batch_size": batch}
    return experiment.net(settings, configuration, 0), data, kept, SAMPLES // batch


def regression(name: str) -> tuple[Any, tuple, dict[str, Any], int]:
    """The net of the quadratic-like regression, with the inflation given in the name."""
    import jax
    import numpy as np

    import shootax as sx

    x = np.random.default_rng(0).uniform(-1, 1, (500, 1))
    field = sx.UpDown(dim=1, inflation=int(name.split("-")[1]))
    net = sx.Net(field, particles=15, key=jax.random.key(0))
    return net, (x, x**2), {"batch_size": 50}, 10


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cores is not None:
        print(json.dumps(step_ms(given.names[0], given.cores, given.epochs)))
        return
    for name in given.names:
        times: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(given.rounds):
            for cores, found in times.items():
                command = [sys.executable, __file__, name, "--cores", str(cores)]
                command += ["--epochs", str(given.epochs)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found.append(json.loads(done.stdout.splitlines()[-1]))
        one, two = (min(found) for found in times.values())
        print(
            f"{name}: one core {one:.3g} ms, two cores {two:.3g} ms, {one / two:.2f} times as fast",
            flush=True,
        )


if __name__ == "__main__":
    main()
