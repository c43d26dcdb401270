"""Run the benchmark in separate processes, and write each result as soon as it is there."""

import dataclasses
import json
import math
import pathlib
import time
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.speed import threads
from benchmarks.speed.cases import CASES
from benchmarks.speed.costs import write_costs
from benchmarks.speed.render import markdown
from benchmarks.speed.settings import PARTS, Settings, names
from benchmarks.speed.settings import record as new_record
from shootax import _checks as checks
from shootax._files import check_output, write_json
from shootax.sweeps import available_cores


def run(
    runs: list[Settings],
    out: pathlib.Path | None,
    costs: pathlib.Path | None = None,
    minutes: float = math.inf,
) -> None:
    """Measure one part after the other, each in its own process; print tables, and rewrite the file after
    each record.

    An incomplete file of the same plan is completed: its finished parts are not measured again. After
    `minutes`, no further part begins, and the remaining parts are named.
    """
    console, began = Console(), time.monotonic()
    for path in (out, costs):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path)
    left = [dataclasses.replace(run, parts=(part,)) for run in runs for part in run.parts]
    left.sort(key=lambda settings: ORDER.index((settings.parts[0], settings.threads > 1)))
    results = [] if out is None else _known(out, left)
    done = [each["settings"] for each in results if each["part"] == FINISHED]
    if done:
        console.print(f"{len(done)} parts are in {out}, and are not measured again.")
    left = [settings for settings in left if _plain(settings) not in done]
    for settings in left:
        named = "one thread" if settings.threads == 1 else f"{settings.threads} threads"
        what = f"{settings.parts[0]}, {named}"
        if time.monotonic() - began > 60 * minutes:
            console.print(f"Not measured, as {minutes:g} minutes are over: {what}.")
            continue
        console.rule(what)
        mine, started = [], time.monotonic()
        with console.status("starting") as status:
            for entry in measured(settings):
                if "note" in entry:
                    console.print(entry["note"])
                elif "progress" in entry:
                    status.update(f"{named}: {entry['progress']}")
                elif entry["part"] != "machine" or entry not in results:
                    mine.append(entry)
                    results.append(entry)
                    console.print(_line(entry), highlight=False)
                    if out is not None:
                        write_json(out, results)
        seconds = time.monotonic() - started
        results.append(
            new_record(
                FINISHED,
                what,
                "",
                threads=settings.threads,
                settings=_plain(settings),
                seconds=seconds,
            )
        )
        if out is not None:
            write_json(out, results)
        for table in _tables(mine):
            console.print(table)
        console.print(f"{what}: {seconds:.0f} s.", highlight=False)
    if costs is not None:
        write_costs(results, costs)
    for path in (out, costs):
        if path is not None:
            console.print(f"Written: {path}", highlight=False, markup=False)


FINISHED = "finished"
"""The part name of records which say that another part is finished, and how long it took."""

ORDER = [
    *((part, False) for part in PARTS[: PARTS.index("automatic")]),
    *(("race", True), ("cores", True)),
    *((part, False) for part in PARTS[PARTS.index("automatic") :]),
]
ORDER += [each for part in PARTS if (each := (part, True)) not in ORDER]
"""The order in which parts are measured, each with whether it uses several threads."""


def _known(out: pathlib.Path, wanted: list[Settings]) -> list[dict[str, Any]]:
    """The records of the finished parts of a file, if it is an incomplete file of this plan."""
    try:
        records = json.loads(out.read_text(encoding="utf-8"))
        done = [each["settings"] for each in records if each["part"] == FINISHED]
    except (OSError, ValueError, TypeError, KeyError):
        return []
    plans = [_plain(settings) for settings in wanted]
    if any(each not in plans for each in done) or len(done) == len(plans):
        return []
    whole = {(each["parts"][0], each["threads"]) for each in done}
    whole |= {("machine", threads) for _, threads in whole}
    names = {(FINISHED, threads) for _, threads in whole}
    return [each for each in records if (each["part"], each["threads"]) in whole | names]


def _plain(settings: Settings) -> dict[str, Any]:
    return json.loads(json.dumps(dataclasses.asdict(settings)))


def planned(
    cases: str | None, parts: str | None, threads_wanted: str, quick: bool, fitting: bool = False
) -> list[Settings]:
    """The runs for the given options. With `both`, the run with all cores has the part `race` and the
    part `cores`, which needs several cores."""
    checks.one_of(threads_wanted, ("1", "all", "both"), "threads")
    every = len(available_cores())
    measured, chosen = names(parts, PARTS), names(cases, CASES)
    if threads_wanted != "both":
        number = 1 if threads_wanted == "1" else every
        return [Settings(number, measured, chosen, quick, fitting)]
    alone = tuple(part for part in measured if part != "cores")
    shared = tuple(part for part in ("race", "cores") if part in measured and every > 1)
    runs = [Settings(1, alone, chosen, quick, fitting), Settings(every, shared, chosen, quick)]
    return [run for run in runs if run.parts]


def show_markdown(path: pathlib.Path) -> None:
    """Print the tables of a results file as Markdown."""
    try:
        records = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a file of results: {error}.") from error
    if not isinstance(records, list) or not all(
        isinstance(r, dict) and "part" in r for r in records
    ):
        raise ValueError(
            f"{path} is not a file of results of `python -m benchmarks --json {path}`."
        )
    print(markdown(records), end="")


def measured(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield the records of one run, from a process with the requested number of threads."""
    worker = threads.worker(
        "benchmarks.speed.worker", settings.threads, threads.chosen(settings.threads)
    )
    try:
        worker.send(dataclasses.asdict(settings))
        for message in worker.messages():
            if "finished" in message:
                return
            if "ended" in message:
                raise RuntimeError(
                    f"The measurements stopped with {message['ended']}; the reason is above. Records "
                    "measured before are kept."
                )
            yield message
    finally:
        worker.close()


def _line(entry: dict[str, Any]) -> str:
    if entry["ratio"] is None:
        more = f"exponent {entry['exponent']:.2f}" if "exponent" in entry else ""
        return f"  {entry['part']}: {entry['case']} {more}"
    return (
        f"  {entry['part']}: {entry['case']}, {entry['rival']}: ours {entry['ours_ms']:.4g} ms, "
        f"{entry['rival_ms']:.4g} ms, ratio {entry['ratio']:.3g}"
    )


def _tables(records: list[dict[str, Any]]) -> Iterator[Table]:
    """One table for each part that compares times."""
    for part in dict.fromkeys(record["part"] for record in records if record["ratio"] is not None):
        table = Table(title=f"{part}: medians (quartiles), ms")
        for heading in ("case", "rival", "ours", "rival's", "ratio"):
            left = heading in ("case", "rival")
            table.add_column(heading, justify="left" if left else "right", overflow="fold")
        for record in records:
            if record["part"] == part and record["ratio"] is not None:
                table.add_row(
                    record["case"],
                    record["rival"],
                    _spread(record, "ours"),
                    _spread(record, "rival"),
                    f"{record['ratio']:.3g}",
                )
        yield table


def _spread(record: dict[str, Any], name: str) -> str:
    lower, upper = record.get(f"{name}_lower_ms"), record.get(f"{name}_upper_ms")
    spread = "" if lower is None else f" ({lower:.3g}–{upper:.3g})"
    return f"{record[f'{name}_ms']:.3g}{spread}"
