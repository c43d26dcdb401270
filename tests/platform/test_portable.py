"""The command line where the system has less than Linux, as macOS and Windows have.

What only Linux has is taken away before anything is imported.
"""

import json
import os
import subprocess
import sys

import pytest

WITHOUT = """
import builtins, os, pathlib, sys

# Others choose by the system as well: they are imported on the one that is really there.
import jax, matplotlib.pyplot, numpy, rich.console, rich.table, scipy, typer
import asyncio, ctypes, multiprocessing, platform, shutil, signal, subprocess, tempfile

jax.numpy.ones(3).block_until_ready()

for name in {names!r}:
    if hasattr(os, name):
        delattr(os, name)
for name in {modules!r}:
    sys.modules[name] = None  # importing it raises ImportError
if {system!r} == "win32":
    import types

    sys.modules["msvcrt"] = types.SimpleNamespace(LK_NBLCK=2, locking=lambda *_: None)
sys.platform = {system!r}

plain_open = builtins.open

def careful_open(file, *arguments, **options):
    if str(file).startswith("/proc/"):
        raise FileNotFoundError(file)
    return plain_open(file, *arguments, **options)

builtins.open = careful_open
pathlib.Path.read_text = lambda self, *a, **k: careful_open(self).read()
"""

MISSING = ("sched_getaffinity", "sched_setaffinity", "process_cpu_count")
MISSING_ON_WINDOWS = ("setsid", "fork", "getuid", "getpgid", "killpg", "nice", "sysconf")
MODULES_MISSING_ON_WINDOWS = ("fcntl", "resource", "pwd", "grp", "termios")


def without(system):
    """A program that takes away what this process has and another system has not."""
    windows = system == "win32"
    return WITHOUT.format(
        system=system,
        names=MISSING + (MISSING_ON_WINDOWS if windows else ()),
        modules=MODULES_MISSING_ON_WINDOWS if windows else (),
    )


def run(system, *arguments, folder):
    program = "\n".join(
        [
            without(system),
            f"sys.argv = ['shootax', *{list(arguments)!r}]",
            "from shootax.cli import main",
            "main()",
        ]
    )
    variables = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "120"}
    return subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=folder,
        env=variables,
    )


@pytest.mark.slow
@pytest.mark.parametrize("system", [pytest.param("darwin", marks=pytest.mark.slow), "win32"])
def test_help_and_count(system, tmp_path):
    done = run(system, "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "reproduce" in done.stdout
    done = run(system, "count", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_sweep_in_processes(system, tmp_path):
    """Cores are counted, the folder is locked, and workers are started, each in its own way."""
    options = ["--preset", "smoke", "--models", "static-direct", "--inflation", "4", "--seeds", "1"]
    done = run(system, "reproduce", "quadratic", *options, "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [run["status"] for run in runs] == ["ok"]


def test_memory_is_not_looked_at_where_it_cannot_be():
    """`fit` drops compiled programs by what Linux says of the process; elsewhere it just trains."""
    program = "\n".join(
        [
            without("darwin"),
            "from shootax._cache import make_room",
            "assert make_room() is False",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
