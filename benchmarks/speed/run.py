"""The benchmark, run in processes of their own, with results written as they come."""

import dataclasses
import json
import pathlib
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.speed import threads
from benchmarks.speed.cases import CASES
from benchmarks.speed.costs import write_costs
from benchmarks.speed.render import markdown
from benchmarks.speed.settings import PARTS, Settings, names
from shootax import _checks as checks
from shootax._files import check_output, write_json
from shootax.sweeps import available_cores


def run(runs: list[Settings], out: pathlib.Path | None, costs: pathlib.Path | None = None) -> None:
    """Makes the runs one after the other, prints tables, and rewrites the file after each record."""
    console = Console()
    for path in (out, costs):
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            check_output(path)
    results: list[dict[str, Any]] = []
    for settings in runs:
        named = "one thread" if settings.threads == 1 else f"{settings.threads} threads"
        console.rule(f"Benchmark, {named}")
        mine: list[dict[str, Any]] = []
        with console.status("starting") as status:
            for entry in measured(settings):
                if "note" in entry:
                    console.print(entry["note"])
                elif "progress" in entry:
                    status.update(f"{named}: {entry['progress']}")
                else:
                    mine.append(entry)
                    results.append(entry)
                    console.print(_line(entry), highlight=False)
                    if out is not None:
                        write_json(out, results)
        for table in _tables(mine):
            console.print(table)
    if costs is not None:
        write_costs(results, costs)
    for path in (out, costs):
        if path is not None:
            console.print(f"Written: {path}", highlight=False, markup=False)


def planned(
    cases: str | None, parts: str | None, threads_wanted: str, quick: bool
) -> list[Settings]:
    """The runs that the options ask for. Of both, that with all cores has the race alone."""
    checks.one_of(threads_wanted, ("1", "all", "both"), "threads")
    every = len(available_cores())
    measured, chosen = names(parts, PARTS), names(cases, CASES)
    if threads_wanted != "both":
        return [Settings(1 if threads_wanted == "1" else every, measured, chosen, quick=quick)]
    runs = [Settings(1, measured, chosen, quick=quick)]
    if every > 1 and "race" in measured:
        runs.append(Settings(every, ("race",), chosen, quick=quick))
    return runs


def show_markdown(path: pathlib.Path) -> None:
    """Prints the tables of a results file as Markdown."""
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
    """The records of one run, from a process with the threads that it is to have."""
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
