"""The environment of a process that may use a given number of threads.

The number must be set before JAX or another numerical library starts.
"""

import os
from collections.abc import Mapping

THREADS = ("NPROC", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


def available_cores() -> list[int]:
    """The cores that this process may use.

    !!! example

        ```python
        from shootax.sweeps import available_cores

        print(len(available_cores()) > 0)  # True
        ```
    """
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def thread_environment(given: Mapping[str, str], threads: int = 1, jobs: int = 1) -> dict[str, str]:
    """The environment variables for a process with a given number of CPU threads.

    The choice between CPU and GPU is left to JAX and to you (`JAX_PLATFORMS`). By default a JAX
    process preallocates most of a GPU's memory. With several `jobs` this is switched off, unless you
    set `XLA_PYTHON_CLIENT_PREALLOCATE` yourself.

    **Arguments:**

    - `given`: the environment to start from, such as `os.environ`.
    - `threads`: the number of CPU threads that the process may use.
    - `jobs`: the number of such processes that run at once.

    !!! example

        ```python
        import os
        from shootax.sweeps import thread_environment

        print(thread_environment(os.environ, threads=2)["OMP_NUM_THREADS"])  # 2
        ```
    """
    out = {**given, **dict.fromkeys(THREADS, str(threads))}
    if threads == 1:
        flags = [*given.get("XLA_FLAGS", "").split(), ONE_THREAD]
        out["XLA_FLAGS"] = " ".join(dict.fromkeys(flags))
    if jobs > 1:
        out.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    return out
