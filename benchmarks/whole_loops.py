"""Compare trainings with and without small loops compiled as single functions.

python -m benchmarks.whole_loops [regression-16] [regression-128] ...

Each run is a process of its own with nothing compiled before. Runs with and without such loops alternate,
and the smallest times count: of a step of `fit` or `fit_many`, and of the whole first training, with
compilation. Times are processor time of one thread.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

NAMES = ("regression-16", "regression-64", "regression-128", "spiral-32", "rotating-mnist")
MANY = NAMES[:3]


def measured(name: str, seeds: int) -> dict[str, float]:
    """The seconds of a first training, and the milliseconds of a step of further ones."""
    from benchmarks.speed.cases import CASES, start
    from benchmarks.speed.whole_fit import whole

    case = CASES[name]
    epochs = 5 if name == "rotating-mnist" else 50
    starts = [start(case, seed) for seed in range(seeds)]
    began = time.process_time()
    train = whole(case, starts, epochs, time.process_time)
    train()
    first = time.process_time() - began
    return {"first": first, "step": 1000 * min(train() for _ in range(6))}


def in_a_process(name: str, seeds: int, marks: bool) -> dict[str, float]:
    """`measured` in a new process."""
    command = [sys.executable, "-m", "benchmarks.whole_loops", name, "--seeds", str(seeds)]
    command += [] if marks else ["--plain"]
    env = {**os.environ, "SHOOTAX_CACHE": "off"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    return json.loads(done.stdout.splitlines()[-1])


def without_marks() -> None:
    """Compile all programs of this process as if no loop were small."""
    from shootax._train import compiler_options

    def unchanged(function: Callable[..., Any]) -> Callable[..., Any]:
        return function

    compiler_options.with_whole_loops = unchanged


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seeds", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--plain", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.seeds is not None:
        if given.plain:
            without_marks()
        print(json.dumps(measured(given.names[0], given.seeds)))
        return
    print("| case | step, ms | single functions | ratio | first training, s | single functions |")
    print("|---|---|---|---|---|---|", flush=True)
    for name in given.names:
        for seeds in (1, 10) if name in MANY else (1,):
            runs = [
                [in_a_process(name, seeds, on) for on in (False, True)] for _ in range(given.rounds)
            ]
            plain, whole = (
                {key: min(run[i][key] for run in runs) for key in ("first", "step")} for i in (0, 1)
            )
            label = name if seeds == 1 else f"{name}, {seeds} seeds"
            print(
                f"| {label} | {plain['step']:.3g} | {whole['step']:.3g} | "
                f"{plain['step'] / whole['step']:.2f} | {plain['first']:.1f} | {whole['first']:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
