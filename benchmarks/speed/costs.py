"""Fit the two numbers of the cost model to measured times of both forms."""

import itertools
import math
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from shootax import UpDown
from shootax._files import write_json
from shootax._systems import operations

# Three steps per factor of ten, which is finer than the precision of the times.
OVERHEADS = np.logspace(2, 12, 31)
ELEMENTS = np.logspace(0, 5, 16)


class Measurement(NamedTuple):
    """A shape (dim, inflation, particles, batch) and the milliseconds of both forms."""

    shape: tuple[int, int, int, int]
    dense: float
    kernel: float


def fitted(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """The two numbers for which the chosen forms take the least time.

    They minimise the mean of log(time of the chosen form / time of the faster form). If several numbers
    lead to the same choices, their geometric mean is taken.
    """
    counts = []
    for (dim, inflation, particles, batch), dense, kernel in measurements:
        each = operations(UpDown(dim, inflation), particles, batch)
        entries = particles * (batch + 2 * particles)
        counts.append((each["dense"] - each["kernel"], entries, math.log(kernel / dense)))
    saved, entries, ratio = np.array(counts, float).T
    losses = {}
    for overhead, element in itertools.product(OVERHEADS, ELEMENTS):
        kernel_chosen = saved > overhead + element * entries
        # The logarithm of the chosen time over the faster one.
        losses[overhead, element] = np.where(
            kernel_chosen, np.maximum(ratio, 0), np.maximum(-ratio, 0)
        ).mean()
    least = min(losses.values())
    best = np.log([pair for pair, loss in losses.items() if loss <= least + 1e-12])
    overhead, element = np.exp(best.mean(axis=0))
    return {
        "kernel_overhead": float(f"{overhead:.3g}"),
        "gram_element": float(f"{element:.3g}"),
        "measured": True,
        "slower_than_best": float(f"{math.expm1(least):.3g}"),
        "shapes": len(measurements),
    }


def measurements(records: Iterable[dict[str, Any]]) -> list[Measurement]:
    """The measurements in the records of the part `forms`."""
    found = []
    for each in records:
        if each["part"] == "forms":
            times = {each["chosen"]: each["ours_ms"], each["rival"]: each["rival_ms"]}
            found.append(Measurement(tuple(each["shape"]), times["dense"], times["kernel"]))
    return found


def write_costs(records: Sequence[dict[str, Any]], path: pathlib.Path) -> None:
    """Write the file to which `SHOOTAX_FORM_COSTS` can point, for the platform of the records."""
    measured = measurements(records)
    if not measured:
        raise ValueError("--costs needs measurements of both forms. Add --parts forms.")
    first = next(each for each in records if each["part"] == "forms")
    source = f"python -m benchmarks --parts forms, on {first['device']}"
    write_json(path, {first["platform"]: {**fitted(measured), "source": source}})
