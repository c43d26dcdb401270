"""`python -m tools.mutate`: draw changes, run tests against each, and print a table."""

import argparse
import dataclasses
import json
import pathlib

from . import nursery, table
from .edits import Edit
from .reach import RED, Reach, record
from .sample import named, package, sample
from .trial import LONG, QUICK, Outcome, red, trial

RESULTS = nursery.FOLDER / "results"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutate", description=__doc__)
    parser.add_argument("--count", type=int, default=320, help="number of changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--cap", type=float, default=60, help="seconds of processor time for one change"
    )
    parser.add_argument("--again", action="store_true", help="run the survivors again")
    parser.add_argument("--long", action="store_true", help="run the survivors against slow tests")
    parser.add_argument(
        "--confirm", action="store_true", help="run the noticing tests without any change"
    )
    parser.add_argument(
        "--only", default="", help="only these packages or changes, such as sklearn,_train"
    )
    parser.add_argument(
        "--part",
        default="1/1",
        help="part of the work, such as 2/3 for the second of three processes",
    )
    parser.add_argument("--named", action="store_true", help="make the changes of named.toml")
    parser.add_argument("--reach", action="store_true", help="record which lines the tests execute")
    parser.add_argument("--table", action="store_true", help="print the table of the known results")
    return parser.parse_args()


def main() -> None:
    options = _arguments()
    drawn = named() if options.named else sample(options.count, options.seed)
    for folder in (RESULTS, RESULTS / "long"):
        folder.mkdir(parents=True, exist_ok=True)
    if not options.table:
        nursery.prepare()
    if options.reach:
        record(QUICK, backwards=options.part == "2/2")
    elif options.confirm:
        _confirm(drawn)
    elif not options.table:
        _run(drawn, options)
    table.show(drawn, RESULTS)


def _run(drawn: list[Edit], options: argparse.Namespace) -> None:
    """Run quick or slow tests against the changes without a known result."""
    reach = Reach()
    part, parts = map(int, options.part.split("/"))
    only = [name for name in options.only.split(",") if name]
    for i, edit in enumerate(drawn):
        if i % parts != part - 1 or edit.name in table.equivalent():
            continue
        if only and package(edit.file) not in only and edit.name not in only:
            continue
        quick = table.known(RESULTS / f"{edit.name}.json")
        place = RESULTS / ("long" if options.long else "") / f"{edit.name}.json"
        known = table.known(place)
        if options.long and (quick is None or quick.noticed or quick.invalid):
            continue
        if known and (known.noticed or known.invalid or not options.again):
            continue
        marks = LONG if options.long else QUICK
        outcome = trial(edit, reach.nearest(edit, slow=options.long), options.cap, marks, reach.red)
        _keep(place, outcome)
        print(f"[{i + 1}/{len(drawn)}] {edit.file}:{edit.line} {edit.kind} {edit.name}: ", end="")
        print(f"{_said(outcome)} ({outcome.tests} tests, {outcome.seconds:.0f} s)", flush=True)


def _keep(place: pathlib.Path, outcome: Outcome) -> None:
    place.write_text(json.dumps(dataclasses.asdict(outcome)), "utf-8")


def _said(outcome: Outcome) -> str:
    if outcome.invalid:
        return f"not a program: {outcome.test}"
    if outcome.noticed:
        return f"{outcome.noticed}: {outcome.test}"
    return "SURVIVES, out of time" if outcome.capped else "SURVIVES"


def _confirm(drawn: list[Edit]) -> None:
    """Run every test that noticed something without any change; tests that fail no longer count."""
    places = [place for edit in drawn for place in RESULTS.glob(f"**/{edit.name}.json")]
    outcomes = {place: table.known(place) for place in places}
    noticing = {o.test for o in outcomes.values() if o and o.noticed == "test"}
    failing = set(red(sorted(noticing)))
    before = set(json.loads(RED.read_text("utf-8"))) if RED.exists() else set()
    RED.write_text(json.dumps(sorted(before | failing)), "utf-8")
    for place, outcome in outcomes.items():
        if outcome and outcome.test in failing:
            place.unlink()
    print(f"{len(noticing)} tests noticed something, {len(failing)} of them fail without a change")
    print(*sorted(failing), sep="\n")


if __name__ == "__main__":
    main()
