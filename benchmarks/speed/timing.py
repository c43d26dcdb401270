"""Timing by interleaved rounds, so that other programs on the machine disturb all rivals alike."""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np


class Timing(NamedTuple):
    """Seconds per call: median, quartiles and minimum over all repetitions."""

    median: float
    lower: float
    upper: float
    fastest: float
    repetitions: int

    def entries(self, name: str) -> dict[str, float | int]:
        """The numbers in milliseconds, as entries of a record."""
        return {
            f"{name}_ms": 1e3 * self.median,
            f"{name}_lower_ms": 1e3 * self.lower,
            f"{name}_upper_ms": 1e3 * self.upper,
            f"{name}_fastest_ms": 1e3 * self.fastest,
            f"{name}_repetitions": self.repetitions,
        }


def summarise(seconds: list[float]) -> Timing:
    """Median, quartiles and minimum."""
    lower, median, upper = np.percentile(seconds, [25, 50, 75])
    return Timing(float(median), float(lower), float(upper), min(seconds), len(seconds))


def race(
    runners: Mapping[str, Callable[[], Any]],
    *,
    seconds: float,
    rounds: int = 7,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Time the runners in turns.

    A runner makes one call and waits for its result. Each runner is called once to warm up and once to
    see how long it takes. Then it gets its share of the time, and at least one call, in each of the
    `rounds`. When the time is up, no further round starts, but there are at least three rounds. With
    `clock=time.process_time`, the times are processor time, which other programs disturb least.
    """
    counts = {}
    for name, run in runners.items():
        run()
        once = _timed(run, clock)
        share = seconds / (rounds * len(runners))
        counts[name] = max(1, min(1000, int(share / max(once, 1e-7))))
    measured: dict[str, list[float]] = {name: [] for name in runners}
    began = time.perf_counter()
    for number in range(rounds):
        if number >= 3 and time.perf_counter() - began > 1.2 * seconds:
            break
        for name, run in runners.items():
            measured[name] += [_timed(run, clock) for _ in range(counts[name])]
    return {name: summarise(values) for name, values in measured.items()}


def _timed(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    run()
    return clock() - began
