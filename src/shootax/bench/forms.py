"""Both forms of the equations measured, against the one that the cost model chooses."""

from collections.abc import Iterator
from typing import Any

from shootax.bench import ours
from shootax.bench.cases import Case, start
from shootax.bench.settings import Settings, row
from shootax.bench.timing import race
from shootax.fields import UpDown
from shootax.systems.choice import cheaper

#        dim, inflation, particles, batch
SHAPES = (
    (1, 8, 5, 50),
    (1, 8, 15, 50),
    (1, 16, 2, 50),
    (1, 16, 5, 50),
    (1, 16, 15, 50),
    (1, 16, 25, 50),
    (1, 32, 5, 50),
    (1, 32, 15, 50),
    (1, 64, 5, 50),
    (1, 64, 15, 50),
    (1, 64, 40, 50),
    (1, 64, 15, 500),
    (2, 16, 15, 100),
    (2, 16, 50, 100),
    (2, 32, 15, 100),
    (2, 32, 25, 100),
    (2, 32, 50, 100),
    (2, 64, 50, 100),
    (2, 128, 100, 100),
    (4, 32, 60, 1000),
    (20, 10, 50, 25),
    (20, 10, 100, 25),
    (20, 10, 150, 25),
    (20, 10, 200, 25),
)


def rows(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each shape the chosen form against the other. A ratio below 1 is a wrong choice."""
    for shape in SHAPES[::6] if settings.quick else SHAPES:
        dim, inflation, particles, batch = shape
        name = f"d={dim}, α={inflation}, K={particles}, batch {batch}"
        yield {"progress": name}
        case = Case(name, dim, inflation, particles, batch, T=1.0, steps=5, momentum=0.01)
        begin = start(case)
        forms = ("dense", "kernel")
        times = race(
            {form: ours.runner(case, begin, form=form) for form in forms},
            seconds=settings.seconds / 8,
        )
        chosen = cheaper(UpDown(dim, inflation), particles, batch)
        other = "kernel" if chosen == "dense" else "dense"
        yield row(
            "forms",
            name,
            other,
            ratio=times[other].median / times[chosen].median,
            chosen=chosen,
            right=times[chosen].median <= times[other].median,
            threads=settings.threads,
            **times[chosen].entries("ours"),
            **times[other].entries("rival"),
        )
