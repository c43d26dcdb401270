"""Shooting derived automatically from the field, against the equations written out."""

from collections.abc import Iterator
from typing import Any

from shootax.bench import ours
from shootax.bench.cases import start
from shootax.bench.settings import Settings, row
from shootax.bench.timing import race


def rows(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case a step by differentiating `f`, against θ built by hand and the chosen form."""
    for case in settings.chosen:
        yield {"progress": f"automatic shooting of {case.name}"}
        begin = start(case)
        forms = ("auto", "dense", "linear", "automatic")
        runners = {form: ours.runner(case, begin, form=form) for form in forms}
        times = race(runners, seconds=settings.seconds / 2)
        for derived in ("linear", "automatic"):
            for written in ("dense", "auto"):
                yield row(
                    "automatic",
                    case.name,
                    f"{derived} by {written}",
                    ratio=times[derived].median / times[written].median,
                    threads=settings.threads,
                    **times[written].entries("ours"),
                    **times[derived].entries("rival"),
                )
