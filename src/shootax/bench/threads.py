"""Processes that use a given number of threads, whatever library the threads belong to.

The number must be settled before JAX or PyTorch starts, so a measurement runs in a process of its
own: bound to as many cores as it may use, and told so by the variables that the libraries read.
"""

import os
import sys
from collections.abc import Mapping, Sequence


def cores() -> list[int]:
    """The cores that this process may use."""
    if sys.platform == "linux":
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def environment(given: Mapping[str, str], threads: int) -> dict[str, str]:
    """The variables for a process with so many threads."""
    count = str(threads)
    names = ("NPROC", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    out = {**given, **dict.fromkeys(names, count)}
    if threads == 1:
        flag = "--xla_cpu_multi_thread_eigen=false"
        out["XLA_FLAGS"] = " ".join(part for part in (given.get("XLA_FLAGS"), flag) if part)
    return out


def command(module: str, arguments: Sequence[str], use: Sequence[int]) -> list[str]:
    """The command that runs a module in a process bound to the cores `use` before any import.

    Where the system cannot bind processes to cores, the variables alone must do.
    """
    bind = f"os.sched_setaffinity(0, {set(use)}); " if sys.platform == "linux" else ""
    argv = [module, *arguments]
    program = (
        f"import os, runpy, sys; {bind}sys.argv = {argv!r}; "
        f"runpy.run_module({module!r}, run_name='__main__')"
    )
    return [sys.executable, "-c", program]


def chosen(threads: int) -> list[int]:
    """So many of the cores that this process may use; the last ones, as systems favour the first."""
    available = cores()
    if threads > len(available):
        raise ValueError(
            f"{threads} threads were asked for, but this process may use {len(available)} cores. "
            "Ask for fewer."
        )
    return available[-threads:]
