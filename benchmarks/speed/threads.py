"""Processes that are bound to their cores before any import."""

import os
import pathlib
import sys
from collections.abc import Sequence

from shootax.sweeps import Worker, available_cores, thread_environment

ROOT = pathlib.Path(__file__).parents[2]


def worker(module: str, threads: int, use: Sequence[int]) -> Worker:
    """A process that runs a module with this number of threads on the cores `use`.

    If the system cannot bind processes to cores, only the environment limits the threads.
    """
    bind = f"os.sched_setaffinity(0, {set(use)}); " if hasattr(os, "sched_setaffinity") else ""
    program = f"import os, runpy; {bind}runpy.run_module({module!r}, run_name='__main__')"
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in paths if path)}
    return Worker([sys.executable, "-c", program], thread_environment(given, threads))


def chosen(threads: int) -> list[int]:
    """As many cores as `threads`, of those that this process may use: the last ones, because systems
    favour the first ones."""
    available = available_cores()
    if threads > len(available):
        raise ValueError(
            f"{threads} threads were asked for, but this process may use {len(available)} cores. "
            "Ask for fewer."
        )
    return available[-threads:]
