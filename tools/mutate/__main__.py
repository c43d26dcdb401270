"""`python -m tools.mutate`: draws changes, runs tests against each, and prints a table."""

import argparse
import dataclasses
import json
import os

from . import nursery, table
from .reach import Reach, record
from .sample import named, package, sample
from .trial import trial

QUICK = "not slow and not browser"
LONG = "not browser"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=320, help="number of changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--budget", type=float, default=20, help="seconds of tests for one change")
    parser.add_argument("--again", action="store_true", help="runs the survivors again")
    parser.add_argument("--only", default="", help="packages, as in sklearn,_train")
    parser.add_argument("--part", default="1/1", help="2/3: the second of three processes")
    parser.add_argument("--named", action="store_true", help="makes the changes of named.toml")
    parser.add_argument("--known", action="store_true", help="records nothing new of tests")
    parser.add_argument("--reach", action="store_true", help="records what tests execute, no more")
    parser.add_argument("--table", action="store_true", help="prints the table of what is known")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    drawn = named() if options.named else sample(options.count, options.seed)
    results = nursery.FOLDER / "results"
    results.mkdir(parents=True, exist_ok=True)
    if not options.table:
        nursery.prepare()
        if not options.known:
            record(QUICK, backwards=options.part == "2/2")
        if not options.reach:
            _run(drawn, options)
    table.show(drawn, results)


def _run(drawn: list, options: argparse.Namespace) -> None:
    reach = Reach()
    part, parts = map(int, options.part.split("/"))
    only = [name for name in options.only.split(",") if name]
    for i, edit in enumerate(drawn):
        place = nursery.FOLDER / "results" / f"{edit.name}.json"
        known = json.loads(place.read_text("utf-8")) if place.exists() else None
        if i % parts != part - 1 or (only and package(edit.file) not in only):
            continue
        if known and (known["noticed"] or not options.again):
            continue
        if edit.name in table.equivalent():
            continue
        tests = reach.choose(edit, options.budget)
        outcome = trial(edit, tests, QUICK, f"{edit.name}-{os.getpid()}")
        place.write_text(json.dumps(dataclasses.asdict(outcome)), "utf-8")
        noticed = f"{outcome.noticed}: {outcome.test}" if outcome.noticed else "SURVIVES"
        print(
            f"[{i + 1}/{len(drawn)}] {edit.file}:{edit.line} {edit.kind}: {noticed} "
            f"({outcome.tests} of {len(tests)} tests, {outcome.seconds:.0f} s)",
            flush=True,
        )


if __name__ == "__main__":
    main()
