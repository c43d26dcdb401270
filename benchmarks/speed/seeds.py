"""Compare many seeds of one model: in one program, one after the other, or in separate processes."""

import functools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from benchmarks.speed import limit, ours, threads
from benchmarks.speed.cases import CASES, Case, Start, start
from benchmarks.speed.settings import Settings, record
from benchmarks.speed.timing import race
from shootax._train.compiler_options import compiled, compiler_options
from shootax.sweeps import Channel

SEEDS = 10


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """For each case, the time of a training step per seed, measured in three ways.

    Our time is for all seeds mapped in one program. There are as many `processes` as threads, each on its
    own core if the system allows it.
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
        yield record(
            "seeds", case.name, "one by one", **shared, **theirs.entries("rival"), ratio=ratio
        )
        yield record(
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
    options = compiler_options(runners[0].state.moving.parameters.size)
    donating = functools.partial(jax.jit, donate_argnums=0)
    step = compiled(jax.vmap(runners[0].step.pure), options, jit=donating)
    held = [states]

    def run() -> Any:
        held[0], losses = step(held[0], *batches)
        return jax.block_until_ready(losses)

    return run


def processes(case: Case, settings: Settings) -> float:
    """Seconds for a training step of all seeds if each thread is a process with its share of the seeds.

    All processes run at once for the same length of time, and their steps are counted.
    """
    seconds = settings.seconds / 4
    workers = [
        threads.worker("benchmarks.speed.seeds", 1, [core])
        for core in threads.chosen(settings.threads)
    ]
    try:
        for worker in workers:
            worker.send({"case": case.name, "seconds": seconds})
        for worker in workers:
            if "ready" not in next(worker.messages()):
                raise RuntimeError(f"{case.name}: a process for one seed did not start.")
        # All processes have compiled and are warm: now they start together.
        for worker in workers:
            worker.send({"go": True})
        answers = [next(worker.messages()) for worker in workers]
    finally:
        for worker in workers:
            worker.close()
    if not all("median" in answer for answer in answers):
        raise RuntimeError(f"{case.name}: a process for one seed ended before it had an answer.")
    rate = sum(1 / answer["median"] for answer in answers)
    return SEEDS / rate


def main() -> None:
    """Run training steps of one seed for a while in this process, and send the median time."""
    channel = Channel()
    tasks = channel.tasks()
    task = next(tasks)
    case = CASES[task["case"]]
    runner = ours.runner(case, start(case))
    runner()
    channel.say({"ready": True})
    next(tasks)
    median = race({"one": runner}, seconds=task["seconds"], rounds=3)["one"].median
    channel.say({"median": median})
    next(
        tasks
    )  # there is no further message: the parent closes the channel, which ends this process


if __name__ == "__main__":
    main()
