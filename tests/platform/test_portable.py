"""The command line where the system has less than Linux, as macOS and Windows have.

What only Linux has is taken away before anything is imported.
"""

import json
import os
import subprocess
import sys

import pytest

import shootax as sx

WITHOUT = """
import os, sys

SYSTEM = {system!r}
# Imported first, as the standard library itself chooses by the system that it is on.
import asyncio, ctypes, multiprocessing, pathlib, platform, shutil, signal, subprocess, tempfile

def unavailable(*_, **__):
    raise OSError("not on this system")

lost = ["sched_getaffinity", "sched_setaffinity", "process_cpu_count"]
if SYSTEM == "win32":
    lost += ["setsid", "fork", "getuid", "getpgid", "killpg", "nice", "getloadavg", "sysconf"]
    for name in ("fcntl", "resource", "pwd", "grp", "termios"):
        sys.modules[name] = None
for name in lost:
    if hasattr(os, name):
        delattr(os, name)

import builtins
plain_open = builtins.open

def careful_open(file, *arguments, **options):
    if str(file).startswith("/proc/"):
        raise FileNotFoundError(file)
    return plain_open(file, *arguments, **options)

builtins.open = careful_open
read_text = pathlib.Path.read_text
pathlib.Path.read_text = lambda self, *a, **k: (
    unavailable() if str(self).startswith("/proc/") else read_text(self, *a, **k)
)
"""

# After JAX and Rich are imported, which choose by the system as well.
PRETEND = """
import jax, numpy, rich.console
jax.numpy.ones(3).block_until_ready()
sys.platform = SYSTEM
"""


def run(system, *arguments, folder):
    program = "\n".join(
        [
            WITHOUT.format(system=system),
            PRETEND,
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


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_help_and_count(system, tmp_path):
    done = run(system, "--help", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "reproduce" in done.stdout
    done = run(system, "count", "--json", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_sweep_in_processes(system, tmp_path):
    """Cores are counted, the folder is locked, and workers are started, each in its own way."""
    options = ["--preset", "smoke", "--models", "static-direct", "--inflation", "4", "--seeds", "1"]
    done = run(system, "reproduce", "quadratic", *options, "--out", "out", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    runs = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [run["status"] for run in runs] == ["ok"]


def test_memory_is_not_looked_at_where_it_cannot_be(tmp_path):
    """`fit` drops compiled programs by what Linux says of the process; elsewhere it just trains."""
    program = "\n".join(
        [
            WITHOUT.format(system="darwin"),
            "import jax, numpy as np, shootax as sx",
            "from shootax._cache import make_room",
            "assert make_room() is False",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert sx.__version__
