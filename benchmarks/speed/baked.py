"""Compare a live net with its `bake(form="auto")`: `benchmarks/baked.py` as a part."""

from collections.abc import Iterator
from typing import Any

import jax

import shootax as sx
from benchmarks.baked import runner, smallest
from benchmarks.speed.settings import Settings, record

PARTICLES, BATCHES = (5, 100, 400), (1, 100, 1000)


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """Smallest times of one call of the rotating-MNIST block, for numbers of particles and batch
    sizes."""
    for particles in PARTICLES[:1] if settings.quick else PARTICLES:
        yield {"progress": f"baked, {particles} particles"}
        field, key = sx.UpDown(20, 10), jax.random.key(0)
        net = sx.Net(field, particles=particles, integrator=sx.RK4(15), key=key)
        baked = sx.bake(net, form="auto")
        for batch in BATCHES:
            x = jax.random.normal(jax.random.key(1), (batch, 20))
            times = smallest({"live": runner(net, x), "baked": runner(baked, x)})
            yield record(
                "baked",
                f"{particles} particles, batch {batch}",
                "live",
                ratio=times["live"] / times["baked"],
                ours_ms=1e3 * times["baked"],
                rival_ms=1e3 * times["live"],
                threads=settings.threads,
            )
