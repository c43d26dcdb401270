"""Many seeds of one model: in one program, one after the other, or in processes of their own."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from shootax.bench import limit, ours, threads
from shootax.bench.cases import CASES, Case, Start, start
from shootax.bench.settings import Settings, row
from shootax.bench.timing import race
from shootax.train.programs import compiler_options

SEEDS = 10


def rows(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case the time per seed of a training step, by three ways.

    Our time is that of all seeds mapped in one program; `processes` are as many as there are threads,
    each on a core of its own where the system allows it.
    """
    chosen = settings.cases
    if settings.quick:
        chosen = tuple(name for name in chosen if name.startswith("regression")) or chosen[:1]
    for case in (CASES[name] for name in chosen):
        yield {"progress": f"{SEEDS} seeds of {case.name}"}
        starts = [start(case, seed) for seed in range(SEEDS)]
        singles = [ours.runner(case, begin) for begin in starts]
        # One compiled program serves all seeds.
        for single in singles[1:]:
            single.step = singles[0].step
        runners: dict[str, Callable[[], Any]] = {
            "mapped": mapped(case, starts),
            "one by one": lambda singles=singles: [single() for single in singles],
            "product": limit.product_runner(),
        }
        times = race(runners, seconds=settings.seconds, rounds=5)
        best = limit.step_flops(case) / limit.rate(times["product"].fastest)
        apart = processes(case, settings)
        mine = times["mapped"].median
        shared = {
            "seeds": SEEDS,
            "threads": settings.threads,
            "ours_per_seed_ms": 1e3 * mine / SEEDS,
            "times_limit_per_seed": mine / SEEDS / best,
            **times["mapped"].entries("ours"),
        }
        theirs = times["one by one"]
        ratio = theirs.median / mine
        yield row(
            "seeds", case.name, "one by one", **shared, **theirs.entries("rival"), ratio=ratio
        )
        yield row(
            "seeds", case.name, "processes", **shared, rival_ms=1e3 * apart, ratio=apart / mine
        )


def mapped(case: Case, starts: list[Start]) -> Callable[[], Any]:
    """A training step of all seeds in one program."""
    runners = [ours.runner(case, begin) for begin in starts]
    stacked = [
        jax.tree.map(lambda *leaves: jnp.stack(leaves), *parts)
        for parts in ([each.state for each in runners], [each.batch for each in runners])
    ]
    states, batches = stacked
    options = compiler_options(runners[0].state.parameters.size)
    step = jax.jit(jax.vmap(runners[0].step.pure), donate_argnums=0, compiler_options=options)
    held = [states]

    def run() -> Any:
        held[0], losses = step(held[0], *batches)
        return jax.block_until_ready(losses)

    return run


def processes(case: Case, settings: Settings) -> float:
    """Seconds for a training step of all seeds when each thread is a process with its share.

    All processes run at once for the same length of time; what counts is the steps they make.
    """
    seconds = settings.seconds / 4
    workers = []
    for core in threads.chosen(settings.threads):
        workers.append(
            subprocess.Popen(
                threads.command("shootax.bench.seeds", [case.name, str(seconds)], [core]),
                env=threads.environment(os.environ, 1),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
    for worker in workers:
        assert worker.stdout is not None
        if worker.stdout.readline().strip() != "ready":
            raise RuntimeError(f"{case.name}: a process for one seed did not start.")
    # All are compiled and warm: now they start together.
    answers = [worker.communicate("go\n")[0] for worker in workers]
    rate = sum(1 / json.loads(answer.strip().splitlines()[-1]) for answer in answers)
    return SEEDS / rate


def main(name: str, seconds: float) -> None:
    """One process: makes training steps of one seed for a while and prints the median time."""
    runner = ours.runner(CASES[name], start(CASES[name]))
    runner()
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(race({"one": runner}, seconds=seconds, rounds=3)["one"].median), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]))
