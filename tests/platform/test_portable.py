"""The command line where the system has less than Linux, as macOS and Windows have.

What only Linux has is taken away before anything is imported.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

WITHOUT = """
import builtins, os, pathlib, sys

# Others choose by the system as well: they are imported on the one that is really there.
import jax, matplotlib.pyplot, numpy, pandas, rich.console, rich.table, scipy, typer
import pyarrow.parquet, sklearn.base, sklearn.exceptions, sklearn.metrics, sklearn.model_selection
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
    lines = [
        f"sys.argv = ['shootax', *{list(arguments)!r}]",
        "from shootax.cli import main",
        "main()",
    ]
    return program(system, "\n".join(lines), folder=folder)


def program(system, text, folder):
    """Runs a program where the system has less."""
    variables = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "120"}
    return subprocess.run(
        [sys.executable, "-c", f"{without(system)}\n{text}"],
        capture_output=True,
        text=True,
        timeout=900,
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


RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "results"
TABLE = "a,b,y\n" + "".join(f"{i % 7},{'xyz'[i % 3]},{i % 5}.5\n" for i in range(30))
QUICK = ("--preset", "smoke", "--models", "static-direct", "--inflation", "4", "--seeds", "1")

# Every command, in an order in which each finds what it needs.
COMMANDS = [
    ("count", "--json"),
    ("fit", "d.csv", "--target", "y", "--out", "m", "--epochs", "2", "--particles", "2"),
    ("predict", "m", "d.csv", "--out", "p.csv.gz"),
    ("info", "m", "--json"),
    ("certify", "net", "--data", "x.npy", "--json"),
    ("compress", "net", "--particles", "1", "--starts", "1", "--iterations", "2", "--out", "few"),
    ("export", "net", "--to", "numpy", "--out", "net.npz"),
    ("report", "net", "--out", "r.html"),
    ("reproduce", "quadratic", *QUICK, "--jobs", "1", "--out", "out"),
    ("plot", "out"),
    ("verify", "out"),
    (
        "claims",
        str(RESULTS / "quadratic-paper"),
        str(RESULTS / "quadratic-best"),
        "--out",
        "claims",
    ),
    ("watch", "out"),
    ("demo", "--epochs", "1", "--out", "demo"),
]

ALL = """
import _thread, threading
import jax, numpy as np, shootax as sx
from shootax.cli import main
from shootax.cli.app import app

names = [c.name or c.callback.__name__ for c in app.registered_commands]
assert sorted(names) == sorted(c[0] for c in {commands!r}), names
field = sx.Affine(1)
sx.save("net", sx.Net(field, sx.Static(field, key=jax.random.key(0)), key=jax.random.key(0)))
np.save("x.npy", np.ones((3, 1)))
for command in {commands!r}:
    if command[0] == "watch":
        threading.Timer(1.0, _thread.interrupt_main).start()
    sys.argv = ["shootax", *command]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code
    print("ENDED", command[0], code, file=sys.stderr, flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_every_command(system, tmp_path):
    """Cores are counted, folders are locked, workers are started and files replaced, each in its own
    way; a command that is new has to be listed here."""
    (tmp_path / "d.csv").write_text(TABLE)
    done = program(system, ALL.format(commands=COMMANDS), folder=tmp_path)
    ended = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("ENDED")]
    assert ended == [[command[0], "0"] for command in COMMANDS], done.stderr
    assert {"m", "p.csv.gz", "few", "net.npz", "r.html"} <= {
        path.name for path in tmp_path.iterdir()
    }


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
    text = "\n".join(
        [
            without("darwin"),
            "from shootax._cache import make_room",
            "assert make_room() is False",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
