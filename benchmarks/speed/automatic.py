"""Shooting derived automatically from the field, against the equations written out."""

from collections.abc import Iterator
from typing import Any

from benchmarks.speed import ours
from benchmarks.speed.cases import start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case a step of the field written as a plain function, against the library's UpDown
    with θ built by hand and in the form that is chosen for it.

    `read` is what a user gets; `linear` and `automatic` are what fields get that are not made of
    blocks, or not linear in θ.
    """
    for case in settings.chosen:
        yield {"progress": f"automatic shooting of {case.name}"}
        begin, plain = start(case), ours.plain_field(case)
        runners = {form: ours.runner(case, begin, form=form) for form in ("auto", "dense")}
        for name, form in (("read", "auto"), ("linear", "linear"), ("automatic", "automatic")):
            runners[name] = ours.runner(case, begin, form=form, field=plain)
        times = race(runners, seconds=settings.seconds / 2)
        for derived in ("read", "linear", "automatic"):
            for written in ("dense", "auto"):
                yield record(
                    "automatic",
                    case.name,
                    f"{derived} by {written}",
                    ratio=times[derived].median / times[written].median,
                    threads=settings.threads,
                    **times[written].entries("ours"),
                    **times[derived].entries("rival"),
                )
