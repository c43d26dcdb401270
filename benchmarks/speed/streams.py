"""Compare training on a stream with training on arrays in memory."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import shootax as sx
from benchmarks.speed import ours
from benchmarks.speed.cases import CASES, DATA_WEIGHT, LEARNING_RATE, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import summarise
from benchmarks.speed.whole_fit import squares

NAMES = ("regression-16", "regression-128", "rotating-mnist")
ROUNDS = 5


class Batches:
    """A source without cost: it returns the same arrays again and again."""

    def __init__(self, x: np.ndarray, y: np.ndarray, number: int):
        self._batch, self._number = (x, y), number

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        return (self._batch for _ in range(self._number))


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For some cases, the time of a step on a stream; the rival is the same step on arrays."""
    for name in (name for name in NAMES if name in settings.cases):
        yield {"progress": f"stream of {name}"}
        case = CASES[name]
        begin = start(case)
        net, y = ours.net(case, begin), ours.targets(case, begin)
        batches = 200 if name.startswith("regression") else 10
        repeated = [np.concatenate([part] * batches) for part in (begin.x, y)]
        options: dict[str, Any] = {
            "epochs": 4,
            "times": np.linspace(0, case.T, case.steps + 1) if case.nodes else None,
            "loss": squares,
            "data_strength": DATA_WEIGHT,
            "optimizer": sx.Optimizer(LEARNING_RATE, schedule=sx.Constant()),
        }

        def on_stream(net=net, x=begin.x, y=y, batches=batches, options=options) -> float:
            return _step(net, (Batches(x, y, batches),), batches, options)

        def on_arrays(net=net, data=repeated, batches=batches, options=options, case=case) -> float:
            return _step(net, tuple(data), batches, {**options, "batch_size": case.batch})

        on_stream()  # compiles
        on_arrays()
        mine, theirs = [], []
        for _ in range(2 if settings.quick else ROUNDS):
            mine.append(on_stream())
            theirs.append(on_arrays())
        streamed, arrays = summarise(mine), summarise(theirs)
        yield record(
            "stream",
            name,
            "arrays",
            ratio=arrays.median / streamed.median,
            threads=settings.threads,
            **streamed.entries("ours"),
            **arrays.entries("rival"),
        )


def _step(net: Any, data: tuple, batches: int, options: dict[str, Any]) -> float:
    """Seconds of a step, from the end of the first epoch on."""
    marks: list[tuple[float, int]] = []
    sx.fit(
        net,
        *data,
        progress=lambda done, _: marks.append((time.perf_counter(), done)),
        **options,
    )
    (began, first), (ended, last) = marks[0], marks[-1]
    return (ended - began) / (last - first) / batches
