"""How much faster `fit` is on two devices of the CPU than on one core, for the models of images.

python benchmarks/two_cores.py [--epochs 8] [rotating-mnist] [bouncing-balls]

Runs of one core and of two devices alternate, and the smallest times count: on a busy machine the rest
is noise.
"""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
import time
from typing import Any

SAMPLES, BATCH = 100, 25


def step_ms(name: str, devices: int, epochs: int) -> float:
    """The smallest time of a training step, in this process."""
    if devices == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import jax
    import numpy as np

    import shootax as sx
    from shootax.paper import EXPERIMENTS, make_settings

    jax.config.update("jax_num_cpu_devices", devices)
    experiment: Any = EXPERIMENTS[name]
    settings = make_settings(experiment, "paper", formulations=["dynamic-particles"])
    settings = dataclasses.replace(settings, options={**settings.options, "training": SAMPLES})
    (configuration,) = experiment.configurations(settings)
    data, options = experiment.task(settings, configuration)
    mesh = None if devices == 1 else jax.make_mesh((devices,), ("data",))
    ends: list[float] = []
    sx.fit(
        experiment.net(settings, configuration, 0),
        *data,
        epochs=epochs,
        batch_size=BATCH,
        optimizer=options["optimizer"],
        mesh=mesh,
        callbacks=[lambda report: ends.append(time.perf_counter())],
        progress=False,
    )
    return 1000 * float(np.diff(ends).min()) * BATCH / SAMPLES


def main() -> None:
    """Prints the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["rotating-mnist", "bouncing-balls"])
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--devices", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.devices is not None:
        print(json.dumps(step_ms(given.names[0], given.devices, given.epochs)))
        return
    for name in given.names:
        times: dict[int, list[float]] = {1: [], 2: []}
        for _ in range(given.rounds):
            for devices, found in times.items():
                command = [sys.executable, __file__, name, "--devices", str(devices)]
                command += ["--epochs", str(given.epochs)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                found.append(json.loads(done.stdout.splitlines()[-1]))
        one, two = (min(found) for found in times.values())
        print(
            f"{name}: one core {one:.1f} ms, two devices {two:.1f} ms, {one / two:.2f} times as fast"
        )


if __name__ == "__main__":
    main()
