"""Compare predictions of a live net and of baked nets, for several numbers of particles and batch sizes.

python benchmarks/baked.py [--inflation 10] [--dim 20]

Each line has the time of one call of the live net, of the net baked with its weights listed, and of the
net baked with its particles kept, and says which of the two forms `form="auto"` chooses. The nets are
timed in turns on one core, and the smallest times count.
"""

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

PARTICLES, BATCHES = (5, 25, 50, 100, 200, 400), (1, 10, 100, 1000)
ROUNDS, SECONDS = 3, 0.4


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dim", type=int, default=20)
    parser.add_argument("--inflation", type=int, default=10)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    import jax

    import shootax as sx

    print("| particles | batch | live, ms | weights, ms | particles, ms | auto | live / auto |")
    print("|---|---|---|---|---|---|---|")
    field = sx.UpDown(given.dim, given.inflation)
    for particles in PARTICLES:
        net = sx.Net(field, particles=particles, integrator=sx.RK4(15), key=jax.random.key(0))
        models = {"live": net, **{form: sx.bake(net, form=form) for form in ("dense", "kernel")}}
        chosen = type(sx.bake(net, form="auto").control)
        auto = "kernel" if chosen is sx.extend.StagewiseParticles else "dense"
        for batch in BATCHES:
            x = jax.random.normal(jax.random.key(1), (batch, given.dim))
            times = smallest({name: runner(model, x) for name, model in models.items()})
            shown = " | ".join(f"{1000 * times[name]:.3g}" for name in models)
            name = "particles" if auto == "kernel" else "weights"
            ratio = times["live"] / times[auto]
            print(f"| {particles} | {batch} | {shown} | {name} | {ratio:.2f} |", flush=True)


def runner(model: Any, x: Any) -> Callable[[], Any]:
    """A compiled call of the model."""
    import equinox as eqx
    import jax

    arrays, static = eqx.partition(model, eqx.is_array)
    apply = jax.jit(lambda arrays, x: eqx.combine(arrays, static)(x))
    return lambda: jax.block_until_ready(apply(arrays, x))


def smallest(runners: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The smallest time of each runner."""
    best = dict.fromkeys(runners, float("inf"))
    for run in runners.values():
        run()
    for _ in range(ROUNDS):
        for name, run in runners.items():
            end = time.perf_counter() + SECONDS / ROUNDS
            while True:
                began = time.perf_counter()
                run()
                done = time.perf_counter()
                best[name] = min(best[name], done - began)
                if done > end:
                    break
    return best


if __name__ == "__main__":
    main()
