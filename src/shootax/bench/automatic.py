"""Shooting derived automatically from the field, against the equations written out."""

from collections.abc import Iterator
from typing import Any

from shootax.bench import ours
from shootax.bench.cases import start
from shootax.bench.settings import Settings, row
from shootax.bench.timing import race


def rows(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case a training step with `form="automatic"` against the form chosen for it."""
    for case in settings.chosen:
        yield {"progress": f"automatic shooting of {case.name}"}
        begin = start(case)
        times = race(
            {form: ours.runner(case, begin, form=form) for form in ("auto", "automatic")},
            seconds=settings.seconds / 2,
        )
        yield row(
            "automatic",
            case.name,
            "automatic",
            ratio=times["automatic"].median / times["auto"].median,
            threads=settings.threads,
            **times["auto"].entries("ours"),
            **times["automatic"].entries("rival"),
        )
