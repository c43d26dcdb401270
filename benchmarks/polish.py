"""Compare L-BFGS after Adam with more epochs of Adam, in processor time.

python -m benchmarks.polish [--seeds 3] [TASK ...]

The tasks are those of `benchmarks.defaults`, with the defaults of `Net` and `fit`. Adam trains each for
its number of epochs and for twice and four times as many, with a schedule for that length. In the fourth
training, `sx.LBFGS` follows Adam. Every training is run twice; the second run counts, because the first
one compiles. Prints a line of Markdown for each task: medians over the seeds of processor time and of
the objective on all training data.
"""

import argparse
import os
import time
from typing import Any

TASKS = (
    "x² + 3/(1 + x²), as in the README",
    "x³",
    "pendulum, trajectories",
    "peaks",
    "diabetes",
    "digits",
)
POLISH = 200


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=TASKS)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # before JAX counts the cores
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    import numpy as np

    columns = ("Adam", "2 ×", "4 ×", f"Adam + LBFGS({POLISH})")
    print("| task | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for name in given.names:
        found = np.median([trainings(name, seed) for seed in range(given.seeds)], axis=0)
        shown = [f"{seconds:.2f} s, {objective:.3g}" for seconds, objective in found]
        print(f"| {name} | " + " | ".join(shown) + " |", flush=True)


def trainings(name: str, seed: int) -> list[tuple[float, float]]:
    """Processor time and final objective of the four trainings."""
    import shootax as sx
    from benchmarks.defaults import TASKS as KNOWN

    task, found = KNOWN[name](), []
    for times, polish in ((1, None), (2, None), (4, None), (1, sx.LBFGS(POLISH))):
        found.append(measured(task, seed, times * task.epochs, polish))
    return found


def measured(task: Any, seed: int, epochs: int, polish: Any) -> tuple[float, float]:
    """Processor time of a training without compilation, and the objective on all of its data."""
    import jax

    import shootax as sx

    more = {} if task.readout is None else {"readout": task.readout}
    field = sx.UpDown(task.dim, task.inflation)
    net = sx.Net(field, particles=task.particles, key=jax.random.key(seed), **more)
    options: dict[str, Any] = {"loss": task.loss, "times": task.times, "progress": False}
    for _ in range(2):
        began = time.process_time()
        net_after = sx.fit(net, *task.train, epochs=epochs, polish=polish, **options).net
        seconds = time.process_time() - began
    # The first epoch of L-BFGS reports the objective on all data, before any step.
    still = sx.Optimizer(1e-30, schedule=sx.Constant())
    check = sx.fit(net_after, *task.train, epochs=1, optimizer=still, polish=sx.LBFGS(1), **options)
    return seconds, float(check.history["objective"][-1])


if __name__ == "__main__":
    main()
