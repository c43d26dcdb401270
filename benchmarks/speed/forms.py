"""Measure both forms of the equations, and compare with the choice of the cost model."""

from collections.abc import Iterator
from typing import Any

import jax

from benchmarks.speed import ours
from benchmarks.speed.cases import Case, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race
from shootax import UpDown
from shootax._compile import default_platform
from shootax._systems import cheaper

#        dim, inflation, particles, batch
FITTED = (
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
"""The shapes to which the two constants of the cost model were fitted."""

OTHERS = (
    (1, 24, 10, 50),
    (1, 48, 20, 100),
    (1, 96, 8, 50),
    (1, 96, 30, 50),
    (1, 128, 60, 200),
    (2, 24, 10, 30),
    (2, 48, 40, 300),
    (2, 96, 30, 100),
    (3, 20, 20, 60),
    (3, 40, 80, 60),
    (6, 16, 12, 500),
    (8, 32, 100, 100),
    (10, 10, 40, 50),
    (10, 20, 120, 50),
    (30, 8, 60, 25),
    (40, 5, 150, 100),
)
"""Shapes in between, to check the choice."""

SHAPES = (*FITTED, *OTHERS)

LARGE = tuple(
    (dim, inflation, particles, batch)
    for dim, inflation in ((8, 16), (32, 16), (64, 64), (256, 16))
    for particles in (16, 128, 1024)
    for batch in (256, 4096)
)
"""Shapes for an accelerator. Smaller shapes would only measure the time to start operations there."""


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each shape, compare the chosen form with the other one. A ratio below 1 is a wrong choice."""
    platform = default_platform()
    every = SHAPES if settings.fitting else OTHERS
    shapes = every if platform == "cpu" else LARGE
    for shape in shapes[::6] if settings.quick else shapes:
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
        yield record(
            "forms",
            name,
            other,
            ratio=times[other].median / times[chosen].median,
            chosen=chosen,
            shape=shape,
            platform=platform,
            device=jax.devices()[0].device_kind,
            fitted=shape in FITTED,
            right=times[chosen].median <= times[other].median,
            threads=settings.threads,
            **times[chosen].entries("ours"),
            **times[other].entries("rival"),
        )
