"""Measure how the time of a training step grows with each of its sizes."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.speed import ours
from benchmarks.speed.cases import Case, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race
from shootax import UpDown
from shootax._systems.choice import cheaper

# Large enough that arithmetic, not overhead, takes the time.
BASE = Case(
    "scaling", dim=4, inflation=64, particles=32, batch=1000, T=1.0, steps=10, momentum=0.01
)
VALUES = {
    "steps": (5, 10, 20, 40, 80),
    "batch": (500, 1000, 2000, 4000, 8000),
    "particles": (16, 32, 64, 128),
    "inflation": (16, 32, 64, 128, 256),
}


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each size, the times over its range and the exponent fitted to them."""
    for size, values in VALUES.items():
        yield {"progress": f"growth with {size}"}
        if settings.quick:
            values = values[:3]
        cases = {str(v): dataclasses.replace(BASE, **{size: v}) for v in values}
        runners = {name: ours.runner(case, start(case)) for name, case in cases.items()}
        times = race(runners, seconds=settings.seconds, rounds=5)
        medians = [times[name].median for name in cases]
        slope, error = exponent(np.array(values, float), np.array(medians))
        yield record(
            "scaling",
            size,
            "exponent",
            exponent=slope,
            standard_error=error,
            values=list(values),
            ms=[1e3 * median for median in medians],
            fastest_ms=[1e3 * times[name].fastest for name in cases],
            forms=[form(case) for case in cases.values()],
            threads=settings.threads,
        )


def form(case: Case) -> str:
    """The form that is chosen for a case."""
    return cheaper(UpDown(case.dim, case.inflation), case.particles, case.batch)


def exponent(sizes: np.ndarray, seconds: np.ndarray) -> tuple[float, float]:
    """The exponent $e$ of $c\\, n^e$ by least squares in logarithms, and its standard error.

    !!! example

        ```python
        import numpy as np
        from benchmarks.speed import exponent

        slope, error = exponent(np.array([1.0, 2.0, 4.0]), np.array([3.0, 6.0, 12.0]))
        print(round(slope, 3))  # 1.0
        ```
    """
    if len(sizes) < 2 or len(sizes) != len(seconds):
        raise ValueError(
            f"An exponent needs the same number of sizes and times, two or more; got {len(sizes)} "
            f"and {len(seconds)}."
        )
    x, y = np.log(sizes) - np.mean(np.log(sizes)), np.log(seconds)
    slope = float(x @ y / (x @ x))
    rest = y - np.mean(y) - slope * x
    freedom = max(len(sizes) - 2, 1)
    return slope, float(np.sqrt(rest @ rest / freedom / (x @ x)))
