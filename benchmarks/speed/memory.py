"""Compare time and memory of the three gradient modes over depth."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import shootax as sx
from benchmarks.speed import ours
from benchmarks.speed.cases import CASES, Case, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race

DEPTHS = (10, 100, 1000, 10_000)
GRADIENTS = {"direct": sx.Direct, "checkpointed": sx.Checkpointed, "reversed": sx.Reversed}


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each depth and gradient mode: the time of a training step and the bytes that it needs.

    The rivals of the direct mode are the other two. Memory is the temporary memory of the compiled step,
    beyond its parameters and batch, from XLA's own buffer assignment.
    """
    for depth in DEPTHS[:2] if settings.quick else DEPTHS:
        yield {"progress": f"depth {depth}"}
        case = deeper(CASES["regression-16"], depth)
        runners = {name: _runner(case, kind()) for name, kind in GRADIENTS.items()}
        memory = {name: runner.temporary_bytes() for name, runner in runners.items()}
        times = race(runners, seconds=settings.seconds / 4, rounds=3)
        for name in GRADIENTS:
            yield record(
                "memory",
                case.name,
                name,
                depth=depth,
                ratio=times[name].median / times["direct"].median,
                threads=settings.threads,
                temporary_bytes=memory[name],
                direct_temporary_bytes=memory["direct"],
                **times["direct"].entries("ours"),
                **times[name].entries("rival"),
            )


def deeper(case: Case, steps: int) -> Case:
    """The same case on a finer grid."""
    return dataclasses.replace(case, name=f"{case.name}, {steps} steps", steps=steps)


def _runner(case: Case, gradient: Any) -> ours.Runner:
    return ours.runner(case, start(case), gradient=gradient)
