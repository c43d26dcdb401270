"""Prediction: the particles integrated once, or again with each batch."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

import shootax as sx
from shootax.bench import ours
from shootax.bench.cases import CASES, start
from shootax.bench.settings import Settings, row
from shootax.bench.timing import race

ROWS = 1000
PARTICLES = (25, 100, 400)


def rows(settings: Settings) -> Iterator[dict[str, Any]]:
    """For several numbers of particles the time per row of a batch of 1000, baked and live."""
    runners, field = {}, CASES["rotating-mnist"]
    for count in PARTICLES:
        case = dataclasses.replace(field, particles=count, batch=ROWS, nodes=False)
        begin = start(case)
        live = ours.net(case, begin)
        x = jnp.asarray(begin.x)
        for name, model in (("live", live), ("baked", sx.bake(live))):
            runners[f"{name} {count}"] = _runner(model, x)
    yield {"progress": "baked and live prediction"}
    times = race(runners, seconds=settings.seconds)
    for count in PARTICLES:
        baked, live = times[f"baked {count}"], times[f"live {count}"]
        yield row(
            "inference",
            f"rotating-mnist, {count} particles",
            "particles with each batch",
            ratio=live.median / baked.median,
            particles=count,
            rows=ROWS,
            ours_row_us=1e6 * baked.median / ROWS,
            rival_row_us=1e6 * live.median / ROWS,
            threads=settings.threads,
            **baked.entries("ours"),
            **live.entries("rival"),
        )


def _runner(model: sx.Net, x: jax.Array):
    arrays, static = eqx.partition(model, eqx.is_array)
    apply = jax.jit(lambda arrays, x: eqx.combine(arrays, static)(x))
    return lambda: jax.block_until_ready(apply(arrays, x))
