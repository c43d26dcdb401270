"""Progress of a sweep: bars in a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from shootax.sweeps._plan import Group


class Display:
    """The progress of a sweep with `runs` runs. `say` prints a line."""

    def __init__(self, say: Callable[[str], None], bars: Any, runs: int, title: str):
        self.say, self._bars = say, bars
        self._runs, self._done, self._began = runs, 0, time.monotonic()
        self._tasks: dict[str, Any] = {}
        self._all = None
        if bars is not None:
            self._all = bars.add_task(title, total=runs, text="runs")

    def begin(self, group: Group) -> None:
        if self._bars is not None:
            name = f"  {group.title}"
            self._tasks[group.name] = self._bars.add_task(name, total=None, text="starting")

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
        seconds = sum(run.get("seconds") or 0 for run in runs)
        counts = {status: 0 for status in ("ok", "diverged", "failed")}
        for run in runs:
            counts[run["status"]] += 1
        how = ", ".join(f"{number} {status}" for status, number in counts.items() if number)
        left = (time.monotonic() - self._began) * (self._runs - self._done) / self._done
        line = f"[{self._done}/{self._runs}] {group.title}: {how}; {seconds:.0f} s" + (
            f"; about {duration(left)} left" if self._done < self._runs else ""
        )
        self.say(line)
        for reason in dict.fromkeys(run["reason"] for run in runs if run.get("reason")):
            self.say(f"    {reason}")


@contextmanager
def display(title: str, runs: int, console: Any = None) -> Iterator[Display]:
    """A display for `runs` runs on a Rich console, by default on standard error."""
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield Display(lambda line: print(line, file=sys.stderr, flush=True), None, runs, title)
        return
    chosen = console or Console(stderr=True)

    def say(line: str) -> None:
        chosen.print(line, highlight=False, markup=False)

    if not chosen.is_terminal or not runs:
        yield Display(say, None, runs, title)
        return
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total} {task.fields[text]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=chosen, transient=True) as bars:
        yield Display(say, bars, runs, title)


def duration(seconds: float) -> str:
    """Format a length of time, as in `3 min`.

    **Arguments:** `seconds`: the length in seconds.

    !!! example

        ```python
        from shootax.sweeps import duration

        print(duration(200.0))
        ```
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02d} min"
