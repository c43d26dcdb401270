"""Compare steps inside `fit` and `fit_many` with the bare compiled step."""

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np

import shootax as sx
from benchmarks.speed import ours, seeds
from benchmarks.speed.cases import DATA_WEIGHT, LEARNING_RATE, Case, Start, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import summarise

BATCHES, ROUNDS = 4, 5
MANY = ("regression-16", "regression-64", "regression-128")


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case, the time of a step inside `fit`; for small cases also of ten seeds with `fit_many`.

    The rival is the compiled `TrainingStep`, called from Python on the same batch again and again. With
    one thread, the times are processor time, which other programs disturb least.
    """
    for case in settings.chosen:
        yield {"progress": f"fit of {case.name}"}
        yield compared(case, settings, 1)
        if case.name in MANY:
            yield {"progress": f"fit_many of {case.name}"}
            yield compared(case, settings, seeds.SEEDS)


def compared(case: Case, settings: Settings, number: int) -> dict[str, Any]:
    """One record. The two take turns, and each turn is one measurement."""
    starts = [start(case, seed) for seed in range(number)]
    bare = ours.runner(case, starts[0]) if number == 1 else seeds.mapped(case, starts)
    bare()
    clock = time.process_time if settings.threads == 1 else time.perf_counter
    once = min(_seconds(bare, clock) for _ in range(3))
    steps = max(2 * BATCHES, int(settings.seconds / (2 * ROUNDS) / once))
    epochs = max(3, steps // BATCHES)
    train = whole(case, starts, epochs, clock)
    train()  # compiles
    mine, theirs = [], []
    for _ in range(2 if settings.quick else ROUNDS):
        mine.append(train())
        theirs.append(_seconds(lambda: [bare() for _ in range(steps)], clock) / steps)
    ours_, rival = summarise(mine), summarise(theirs)
    return record(
        "fit",
        case.name if number == 1 else f"{case.name}, {number} seeds",
        "bare step",
        ratio=rival.median / ours_.median,
        threads=settings.threads,
        **ours_.entries("ours"),
        **rival.entries("rival"),
    )


def whole(
    case: Case, starts: list[Start], epochs: int, clock: Callable[[], float]
) -> Callable[[], float]:
    """Train on several batches, and return the seconds of a step. The time runs from the end of the
    first call of the compiled program to the end of the last call, so it does not include checks of the
    data and the start.

    The training is the beginning of a long one, for which `fit` compiles as `TrainingStep` does. For a
    short training it compiles faster, to steps that are 10 to 20 % slower."""
    nets = [ours.net(case, begin) for begin in starts]
    x = np.concatenate([starts[0].x] * BATCHES)
    y = np.concatenate([ours.targets(case, starts[0])] * BATCHES)
    times = np.linspace(0, case.T, case.steps + 1) if case.nodes else None
    options: dict[str, Any] = {
        "epochs": 1_000_000,
        "batch_size": case.batch,
        "times": times,
        "loss": squares,
        "data_strength": DATA_WEIGHT,
        "optimizer": sx.Optimizer(LEARNING_RATE, schedule=sx.Constant()),
    }

    def run() -> float:
        marks: list[tuple[float, int]] = []

        def note(done: int, _: str) -> None:
            marks.append((clock(), done))
            if done >= epochs:
                raise _EnoughError

        with contextlib.suppress(_EnoughError):
            if len(nets) == 1:
                sx.fit(nets[0], x, y, progress=note, **options)
            else:
                sx.fit_many(nets, x, y, progress=note, together=True, **options)
        (began, first), (ended, last) = marks[0], marks[-1]
        return (ended - began) / (last - first) / BATCHES

    return run


class _EnoughError(Exception):
    """Raised to end a training."""


def squares(prediction: Any, target: Any) -> Any:
    """The loss of the cases: a sum over dimensions, a mean over times if there are any."""
    return jnp.mean(jnp.sum((prediction - target) ** 2, axis=-1))


def _seconds(run: Callable[[], Any], clock: Callable[[], float]) -> float:
    began = clock()
    run()
    return clock() - began
