"""Compare shooting derived automatically from the field with the equations written out."""

from collections.abc import Iterator
from typing import Any

from benchmarks.speed import ours
from benchmarks.speed.cases import start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case, compare a step of the field written as a plain function with the library's UpDown,
    both with θ built by hand and in the form that the library chooses.

    `read` is the form that a user gets. `linear` is for fields that are linear in θ but not made of
    blocks, and `automatic` for fields that are not linear in θ.
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
