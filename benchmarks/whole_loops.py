"""Compare steps of `fit` and `fit_many` with and without small loops compiled as single functions.

python benchmarks/whole_loops.py [regression-16] [regression-128] ...

Times are processor time of one thread. Runs with and without alternate, and the smallest times count.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

NAMES = ("regression-16", "regression-64", "regression-128", "rotating-mnist")
MANY = NAMES[:3]
ROOT = pathlib.Path(__file__).parents[1]


def step_ms(name: str, seeds: int) -> float:
    """The smallest time of a step of a long training, in this process."""
    from benchmarks.speed.cases import CASES, start
    from benchmarks.speed.whole_fit import whole

    case = CASES[name]
    epochs = 10 if name == "rotating-mnist" else 300
    train = whole(case, [start(case, seed) for seed in range(seeds)], epochs, time.process_time)
    return 1000 * min(train() for _ in range(5))


def main() -> None:
    """Print the times and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seeds", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.seeds is not None:
        print(json.dumps(step_ms(given.names[0], given.seeds)))
        return
    for name in given.names:
        for seeds in (1, 10) if name in MANY else (1,):
            times: dict[str, list[float]] = {"0": [], "1": []}
            for _ in range(given.rounds):
                for wanted, found in times.items():
                    command = [sys.executable, __file__, name, "--seeds", str(seeds)]
                    more = {"SHOOTAX_WHOLE_LOOPS": wanted, "PYTHONPATH": str(ROOT)}
                    done = subprocess.run(
                        command,
                        capture_output=True,
                        text=True,
                        check=True,
                        env={**os.environ, **more},
                    )
                    found.append(json.loads(done.stdout.splitlines()[-1]))
            plain, loops = (min(found) for found in times.values())
            print(
                f"{name}, {seeds} seed(s): {plain:.3g} ms, with whole loops {loops:.3g} ms, "
                f"{plain / loops:.2f} times as fast",
                flush=True,
            )


if __name__ == "__main__":
    main()
