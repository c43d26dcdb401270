"""Compare `fit` on two cores and on one: `benchmarks/two_cores.py` as a part."""

import json
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import summarise

PROGRAM = pathlib.Path(__file__).parents[1] / "two_cores.py"
NAMES = ("rotating-mnist", "rotating-mnist/swift", "bouncing-balls", "regression-16")


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """The time of a step with two cores, for some cases; the rival has one core. Runs alternate."""
    epochs, rounds = (3, 1) if settings.quick else (5, 2)
    for name in (name for name in NAMES if name.split("/")[0] in settings.cases):
        found: dict[int, list[float]] = {1: [], 2: []}
        for number in range(rounds):
            yield {"progress": f"two cores, {name}, round {number + 1} of {rounds}"}
            for cores, times in found.items():
                command = [sys.executable, str(PROGRAM), name, "--cores", str(cores)]
                command += ["--epochs", str(epochs)]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode:
                    raise RuntimeError(f"{name} with {cores} cores failed:\n{done.stderr}")
                times.append(json.loads(done.stdout.splitlines()[-1]) / 1e3)
        one, two = summarise(found[1]), summarise(found[2])
        yield record(
            "cores",
            name,
            "one core",
            ratio=one.fastest / two.fastest,
            threads=settings.threads,
            **two.entries("ours"),
            **one.entries("rival"),
        )
