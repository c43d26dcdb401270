"""Processes that are bound to as many cores as they may use, before any import."""

import os
import pathlib
import sys
from collections.abc import Sequence

from shootax.sweeps import Worker, available_cores, thread_environment

ROOT = pathlib.Path(__file__).parents[2]


def worker(module: str, threads: int, use: Sequence[int]) -> Worker:
    """A process that runs a module with so many threads on the cores `use`.

    Where the system cannot bind processes to cores, the environment alone must do.
    """
    bind = f"os.sched_setaffinity(0, {set(use)}); " if hasattr(os, "sched_setaffinity") else ""
    program = f"import os, runpy; {bind}runpy.run_module({module!r}, run_name='__main__')"
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return Worker([sys.executable, "-c", program], thread_environment(given, threads))


def chosen(threads: int) -> list[int]:
    """So many of the cores that this process may use; the last ones, as systems favour the first."""
    available = available_cores()
    if threads > len(available):
        raise ValueError(
            f"{threads} threads were asked for, but this process may use {len(available)} cores. "
            "Ask for fewer."
        )
    return available[-threads:]
