"""Processes that have imported everything except the library when they start.

Importing takes longer than most tests. A process can be forked as long as JAX has not computed anything,
so the parent imports and never computes.
"""

import contextlib
import json
import os
import pathlib
import resource
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "build" / "mutate"
IMPORTS = """
    numpy scipy.optimize jax jax.numpy jax.export equinox diffrax optax optimistix lineax jaxtyping
    beartype safetensors.numpy pandas pyarrow sklearn.ensemble sklearn.pipeline
    sklearn.model_selection sklearn.utils.estimator_checks matplotlib.pyplot onnx onnxruntime
    typer.testing rich.progress plotly pytest _pytest.doctest
""".split()  # noqa: SIM905
LIMITS = (signal.SIGXCPU, signal.SIGKILL)
IDLE = 0.05  # below this share of a core, a process only waits, however busy the machine is


def prepare() -> None:
    """Import what the tests need, with the compiler settings of `make test`."""
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT)]
    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(FOLDER / "programs"))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.05")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    from tests import compiler

    compiler.quick()
    for name in IMPORTS:
        with contextlib.suppress(ImportError):  # an extra that is not installed
            __import__(name)
    for name in [name for name in sys.modules if name.partition(".")[0] == "shootax"]:
        raise RuntimeError(f"{name} is imported already, so it cannot be changed.")


def child(work: Callable[[], Any], name: str, cpu: float, wall: float) -> tuple[Any, float, str]:
    """Run `work` in its own process; return its result, its processor time, and the limit that ended it.

    The result is `None` if the process did not finish, because of a limit or a crash. The limit is
    "time", or "idle" if the process did almost nothing until `wall` seconds had passed.
    """
    out = FOLDER / "out" / f"{name}.json"
    log = out.with_suffix(".log")
    out.parent.mkdir(parents=True, exist_ok=True)
    out.unlink(missing_ok=True)
    sys.stdout.flush()
    sys.stderr.flush()
    process = os.fork()
    if process == 0:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (int(cpu) + 1, int(cpu) + 5))
            handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(handle, 1)
            os.dup2(handle, 2)
            text = json.dumps(work())
            out.write_text(text, "utf-8")
        except BaseException as error:
            print(repr(error), flush=True)
        finally:
            sys.stdout.flush()
            os._exit(0)
    until = time.monotonic() + wall
    while True:
        done, status, used = os.wait4(process, os.WNOHANG)
        if done:
            ended = os.WIFSIGNALED(status) and os.WTERMSIG(status) in LIMITS
            stopped = "time" if ended else ""
            break
        if time.monotonic() > until:
            stopped = "idle" if _group_seconds(process) < IDLE * wall else "time"
            os.killpg(process, signal.SIGKILL)
            _, _, used = os.wait4(process, 0)
            break
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):  # the processes that it started
        os.killpg(process, signal.SIGKILL)
    seconds = used.ru_utime + used.ru_stime
    if not out.exists():
        return None, seconds, stopped
    found = json.loads(out.read_text("utf-8"))
    out.unlink()
    log.unlink(missing_ok=True)
    return found, seconds, stopped


def _group_seconds(group: int) -> float:
    """The processor time of a process and of all processes that it started."""
    ticks = 0
    for place in pathlib.Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            entries = place.read_text("utf-8").rpartition(")")[2].split()
            if int(entries[2]) == group:
                ticks += sum(map(int, entries[11:15]))  # with the times of children that have ended
    return ticks / os.sysconf("SC_CLK_TCK")
