"""How a sweep shows how far it is: bars in a terminal, plain lines elsewhere."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from shootax.sweeps.plan import Group


class Display:
    """Told of what happens in a sweep of so many runs."""

    def __init__(self, console: Console, bars: Progress | None, runs: int, title: str):
        self._console, self._bars = console, bars
        self._runs, self._done, self._began = runs, 0, time.monotonic()
        self._tasks: dict[str, Any] = {}
        self._all = None
        if bars is not None:
            self._all = bars.add_task(title, total=runs, text="runs")

    def begin(self, group: Group) -> None:
        if self._bars is not None:
            name = f"  {group.configuration.title}"
            self._tasks[group.name] = self._bars.add_task(name, total=None, text="compiling")

    def progress(self, group: Group, message: dict[str, Any]) -> None:
        if self._bars is None:
            return
        task, text = self._tasks[group.name], message.get("text", "")
        if "done" in message:
            self._bars.update(task, completed=message["done"], total=message["total"], text=text)
        else:
            self._bars.update(task, text=text)

    def end(self, group: Group, runs: list[dict[str, Any]]) -> None:
        self._done += len(runs)
        if self._bars is not None:
            self._bars.remove_task(self._tasks.pop(group.name))
            assert self._all is not None
            self._bars.update(self._all, completed=self._done)
        seconds = sum(run["seconds"] or 0 for run in runs)
        counts = {status: 0 for status in ("ok", "diverged", "failed")}
        for run in runs:
            counts[run["status"]] += 1
        how = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
        left = (time.monotonic() - self._began) * (self._runs - self._done) / self._done
        line = (
            f"[{self._done}/{self._runs}] {group.configuration.title}: {how}; {seconds:.0f} s"
            + (f"; about {duration(left)} left" if self._done < self._runs else "")
        )
        self._console.print(line, highlight=False, markup=False)
        for reason in {run["reason"] for run in runs if run["reason"]}:
            self._console.print(f"    {reason}", highlight=False, markup=False)


@contextmanager
def display(title: str, runs: int, console: Console) -> Iterator[Display]:
    """A display for a sweep of so many runs."""
    if not console.is_terminal:
        yield Display(console, None, runs, title)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total} {task.fields[text]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bars:
        yield Display(console, bars, runs, title)


def duration(seconds: float) -> str:
    """A length of time for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
