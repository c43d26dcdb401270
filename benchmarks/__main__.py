"""`python -m benchmarks`: training steps against Diffrax, torchdiffeq and the machine's limit.

python -m benchmarks --json bench.json --parts race,memory
python -m benchmarks --markdown bench.json
python -m benchmarks --threads 1 --parts forms --costs costs.json
"""

import argparse
import math
import pathlib
import sys
from collections.abc import Sequence

from benchmarks.speed.run import planned, run, show_markdown


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add(
        "--json",
        type=pathlib.Path,
        help="file for the results, rewritten after each record; an incomplete one is completed",
    )
    add(
        "--minutes",
        type=float,
        default=math.inf,
        help="do not start another part after this many minutes",
    )
    add("--costs", type=pathlib.Path, help="file for the cost model, fitted to the part `forms`")
    add("--cases", help="cases, separated by commas; all by default")
    add("--parts", help="parts, separated by commas; all by default")
    add("--threads", default="both", help="1, all, or both: one thread, then all cores")
    add("--quick", action="store_true", help="a rough estimate from few repetitions")
    add(
        "--markdown",
        type=pathlib.Path,
        help="measure nothing; print the tables of a results file as Markdown",
    )
    given = parser.parse_args(arguments)
    try:
        if given.markdown is not None:
            show_markdown(given.markdown)
        else:
            run(
                planned(
                    given.cases, given.parts, given.threads, given.quick, given.costs is not None
                ),
                given.json,
                given.costs,
                given.minutes,
            )
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"benchmarks: {error}")


if __name__ == "__main__":
    main()
