"""Compare a training step of every case: ours, that of the rivals, and the limit of the machine."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.speed import limit, ours, rival_diffrax, rival_torch
from benchmarks.speed.cases import Case, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import Timing, race
from shootax import UpDown
from shootax._systems.choice import cheaper

TOLERANCE = 1e-4


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """A record for each case and rival."""
    absent = rival_torch.missing()
    if absent:
        yield {"note": f"torchdiffeq is left out: {' and '.join(absent)} not installed."}
    for case in settings.chosen:
        yield {"progress": case.name}
        yield from measure(case, settings, with_torch=not absent)


def runners(case: Case, *, threads: int, with_torch: bool) -> dict[str, Callable[[], float]]:
    """A training step of each library, from the same start."""
    begin = start(case)
    out: dict[str, Callable[[], float]] = {
        "ours": ours.runner(case, begin),
        "diffrax": rival_diffrax.runner(case, begin),
    }
    if with_torch:
        out["torchdiffeq"] = rival_torch.runner(case, begin, threads)
    return out


def check_agreement(case: Case, losses: dict[str, float]) -> None:
    """Raise an error unless all have the same loss; otherwise they are not the same model."""
    for rival, loss in losses.items():
        error = abs(loss - losses["ours"]) / abs(losses["ours"])
        if not np.isfinite(loss) or error > TOLERANCE:
            raise RuntimeError(
                f"{case.name}: the loss of {rival} is {loss:.8g}, ours is {losses['ours']:.8g}. They "
                f"must agree to {TOLERANCE:g} (relative), or the times cannot be compared. Check "
                f"that both solve the same equations from the same start."
            )


def measure(case: Case, settings: Settings, *, with_torch: bool) -> Iterator[dict[str, Any]]:
    """The records of one case."""
    contestants = runners(case, threads=settings.threads, with_torch=with_torch)
    # The losses of two steps: the second one depends on the gradients and on Adam.
    for _ in range(2):
        check_agreement(case, {name: run() for name, run in contestants.items()})
    product = limit.product_runner()
    times = race({**contestants, "product": product}, seconds=settings.seconds)
    form = cheaper(UpDown(case.dim, case.inflation), case.particles, case.batch)
    mine = times["ours"]
    common = {"form": form, "threads": settings.threads, **mine.entries("ours")}
    for name in contestants:
        if name != "ours":
            yield _record(case, name, times[name], common)
    # The smallest of the product's times gives the peak of the machine.
    rate = limit.rate(times["product"].fastest)
    best = limit.step_flops(case) / rate
    yield record(
        "race",
        case.name,
        "limit",
        ratio=best / mine.median,
        times_limit=mine.median / best,
        times_limit_fastest=mine.fastest / best,
        rival_ms=1e3 * best,
        gflops=rate / 1e9,
        flops=limit.step_flops(case),
        **common,
    )


def _record(case: Case, rival: str, theirs: Timing, common: dict[str, Any]) -> dict[str, Any]:
    values = {**theirs.entries("rival"), **common}
    return record(
        "race", case.name, rival, ratio=theirs.median / (common["ours_ms"] / 1e3), **values
    )
