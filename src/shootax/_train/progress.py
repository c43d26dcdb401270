"""Show progress, by default only in a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Show = Callable[[int, str], None]


@contextmanager
def progress_bar(title: str, total: int, wanted: bool | Show | None) -> Iterator[Show]:
    """Yield a function that shows progress. By default, there is a bar only if stderr is a terminal."""
    if callable(wanted):
        yield wanted
        return
    if wanted is not None and not isinstance(wanted, bool):
        raise ValueError(
            "progress must be True, False, None (a bar only in a terminal) or a function of the number "
            f"of completed epochs and a text; got {wanted!r}."
        )
    if wanted is None:
        wanted = sys.stderr.isatty()
    if not wanted:
        yield lambda done, text: None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield lambda done, text: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}  {task.fields[text]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=total, text="compiling")
        yield lambda done, text: bar.update(task, completed=done, text=text)
