"""The benchmark, run in processes of their own, with results written as they come."""

import dataclasses
import json
import os
import pathlib
import subprocess
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table

from shootax import checks
from shootax.bench import threads
from shootax.bench.cases import CASES
from shootax.bench.render import markdown
from shootax.bench.settings import PARTS, Settings, names
from shootax.cli.text import say
from shootax.files import check_output, write_text


def run(runs: list[Settings], out: pathlib.Path | None) -> None:
    """Makes the runs one after the other, prints tables, and rewrites the file after each row."""
    console = Console()
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        check_output(out)
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
                        write_text(out, json.dumps(results, indent=1, ensure_ascii=False) + "\n")
        for table in _tables(mine):
            console.print(table)
    if out is not None:
        say(f"Written: {out}", console)


def planned(
    cases: str | None, parts: str | None, threads_wanted: str, quick: bool
) -> list[Settings]:
    """The runs that the options ask for. Of both, that with all cores has the race alone."""
    checks.one_of(threads_wanted, ("1", "all", "both"), "threads")
    every = len(threads.cores())
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
        rows = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not a file of results: {error}.") from error
    if not isinstance(rows, list) or not all(isinstance(r, dict) and "part" in r for r in rows):
        raise ValueError(f"{path} is not a file of results of `shootax bench --json {path}`.")
    print(markdown(rows), end="")


def measured(settings: Settings) -> Iterator[dict[str, Any]]:
    """The rows of one run, from a process with the threads that it is to have."""
    arguments = [json.dumps(dataclasses.asdict(settings))]
    use = threads.chosen(settings.threads)
    process = subprocess.Popen(
        threads.command("shootax.bench.worker", arguments, use),
        env=threads.environment(os.environ, settings.threads),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    try:
        for line in process.stdout:
            yield json.loads(line)
        if process.wait():
            raise RuntimeError(
                f"The measurements stopped with exit code {process.returncode}; the reason is above. "
                "Rows measured before are kept."
            )
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait()


def _line(entry: dict[str, Any]) -> str:
    if entry["ratio"] is None:
        more = f"exponent {entry['exponent']:.2f}" if "exponent" in entry else ""
        return f"  {entry['part']}: {entry['case']} {more}"
    return (
        f"  {entry['part']}: {entry['case']}, {entry['rival']}: ours {entry['ours_ms']:.4g} ms, "
        f"{entry['rival_ms']:.4g} ms, ratio {entry['ratio']:.3g}"
    )


def _tables(rows: list[dict[str, Any]]) -> Iterator[Table]:
    """One table for each part that compares times."""
    for part in dict.fromkeys(row["part"] for row in rows if row["ratio"] is not None):
        table = Table(title=f"{part}: medians (quartiles), ms")
        for heading in ("case", "rival", "ours", "rival's", "ratio"):
            left = heading in ("case", "rival")
            table.add_column(heading, justify="left" if left else "right", overflow="fold")
        for row in rows:
            if row["part"] == part and row["ratio"] is not None:
                table.add_row(
                    row["case"],
                    row["rival"],
                    _spread(row, "ours"),
                    _spread(row, "rival"),
                    f"{row['ratio']:.3g}",
                )
        yield table


def _spread(row: dict[str, Any], name: str) -> str:
    lower, upper = row.get(f"{name}_lower_ms"), row.get(f"{name}_upper_ms")
    spread = "" if lower is None else f" ({lower:.3g}–{upper:.3g})"
    return f"{row[f'{name}_ms']:.3g}{spread}"
