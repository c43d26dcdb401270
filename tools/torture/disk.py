"""A full disk: files stay as they are, the message names the cause, and work resumes when there is space.

A small tmpfs is mounted in its own mount namespace, if that is permitted; otherwise a limit on the size
of files takes its place. The results say which of the two was used.
"""

import contextlib
import io
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from tools.torture import jobs
from tools.torture.ledger import LOST, SILENT, SURVIVED, UNCLEAR, Ledger, described

SIZE = "8m"
INSIDE = 'mount -t tmpfs -o size={size} none "$0" && exec "$@"'


def run(seed: int, scale: float, folder: pathlib.Path, ledger: Ledger) -> None:
    """Run all cases, in their own mount namespace if that is permitted."""
    place = folder / "small"
    place.mkdir()
    for rights in (["--mount"], ["--user", "--map-root-user", "--mount"]):
        command = ["unshare", *rights, "sh", "-c", INSIDE.format(size=SIZE), str(place)]
        with contextlib.suppress(OSError):
            if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
                code = subprocess.run(
                    [*command, sys.executable, "-m", "tools.torture.disk", "inside", str(place)],
                    check=False,
                ).returncode
                if code:
                    raise RuntimeError(f"the cases on a full tmpfs ended with exit code {code}")
                return
    _cases(place, _Limit(), ledger, "a limit on the size of files")


class _Tmpfs:
    """A tmpfs that is full while a file takes all the remaining space."""

    @contextlib.contextmanager
    def full(self, place: pathlib.Path, left: int = 0) -> Iterator[None]:
        filler = place / "filler"
        with open(filler, "wb", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass
        if left:
            os.truncate(filler, filler.stat().st_size - left)
        try:
            yield
        finally:
            filler.unlink()


class _Limit:
    """A limit on the size of every file."""

    @contextlib.contextmanager
    def full(self, place: pathlib.Path, left: int = 0) -> Iterator[None]:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        old = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (left, old[1]))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)


def _cases(place: pathlib.Path, disk: Any, ledger: Ledger, how: str) -> None:
    import shootax as sx

    ledger.measure(full_disk=how)
    larger = jobs.net(5, 40)
    for left in (0, 300):
        jobs.prepare_export(_fresh(place))
        sx.save(place / "net.safetensors", jobs.net(0))
        _refused(
            ledger, "save", lambda: sx.save(place / "net.safetensors", larger), place, disk, left
        )
        _refused(
            ledger, "export",
            lambda: sx.export.write(larger, place / "net-numpy.npz", to="numpy"), place, disk, left,
        )  # fmt: skip
    (_fresh(place) / "data.csv").write_text(jobs.CSV, encoding="utf-8")
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        jobs.prepare_table(place)
    _refused(ledger, "fit of a table", lambda: jobs.table(place), place, disk, 0)
    _refused(ledger, "predict", lambda: jobs.predict(place), place, disk, 0)
    sx.save(place / "a.safetensors", jobs.net(0))
    _refused(ledger, "report", lambda: jobs.report(place), place, disk, 0)
    _training(place, disk, ledger)
    if isinstance(disk, _Tmpfs):
        _sweep(place, disk, ledger)


def _fresh(place: pathlib.Path) -> pathlib.Path:
    for entry in place.iterdir():
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    return place


def _contents(place: pathlib.Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in place.iterdir() if p.is_file() and p.name != "filler"}


def _refused(
    ledger: Ledger, case: str, work: Callable[[], Any], place: pathlib.Path, disk: Any, left: int
) -> None:
    """Check that the work fails with a message that names the cause, and that no file is changed or
    left."""
    before, told = _contents(place), None
    output = io.StringIO()
    with disk.full(place, left), contextlib.redirect_stdout(output):
        try:
            work()
        except SystemExit as end:
            told = str(end.code)
        except (ValueError, OSError) as error:
            told = described(error)
        except Exception as error:
            ledger.note(case, UNCLEAR, described(error))
            return
    after = _contents(place)
    if after != before:
        changed = sorted({*before, *after} - {k for k in before if after.get(k) == before[k]})
        ledger.note(case, LOST, f"changed on a full disk: {changed}")
    elif told is None:
        ledger.note(case, SILENT, "the work seemed to succeed")
    elif not any(word in told for word in ("No space left", "File too large")):
        ledger.note(case, UNCLEAR, told)
    else:
        ledger.note(case, SURVIVED)


def _training(place: pathlib.Path, disk: Any, ledger: Ledger) -> None:
    """Check that training continues with a warning if a checkpoint cannot be written."""
    undisturbed = jobs.fitted(3, _fresh(place) / "whole.ckpt")
    with disk.full(place), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = jobs.fitted(3, place / "training.ckpt")
    words = [str(warning.message) for warning in caught]
    if list(found.history["objective"]) != list(undisturbed.history["objective"]):
        ledger.note("fit with checkpoint", SILENT, "other numbers on a full disk")
    elif not any("could not be written" in text for text in words):
        ledger.note("fit with checkpoint", UNCLEAR, f"warnings: {words}")
    else:
        ledger.note("fit with checkpoint", SURVIVED)


def _sweep(place: pathlib.Path, disk: Any, ledger: Ledger) -> None:
    """Check that a sweep on a full disk stops with a message, and finishes when there is space again."""
    from shootax.sweeps import run_sweep

    options: dict[str, Any] = {"seeds": 2}
    grid, function = {"x": [1, 2]}, "tools.torture.jobs:add"
    with contextlib.redirect_stderr(io.StringIO()):
        wanted = run_sweep(function, grid, _fresh(place) / "whole", **options)
        run_sweep(function, {"x": [1]}, place / "half", seeds=1)
        told = ""
        with disk.full(place):
            try:
                run_sweep(function, grid, place / "out", **options)
            except (ValueError, RuntimeError, OSError) as error:
                told = str(error)
        if (place / "out").exists() and not (place / "out" / "sweep.json").exists():
            shutil.rmtree(place / "out")
        found = run_sweep(function, grid, place / "out", **options)
    if [run["value"] for run in found] != [run["value"] for run in wanted]:
        ledger.note("sweep", LOST, f"{found} instead of {wanted}")
    elif "No space left" not in told:
        ledger.note("sweep", UNCLEAR, told or "a sweep on a full disk seemed to succeed")
    else:
        ledger.note("sweep", SURVIVED)


if __name__ == "__main__":
    if sys.argv[1] == "inside":
        _cases(pathlib.Path(sys.argv[2]), _Tmpfs(), Ledger("disk"), "tmpfs of 8 MB")
    else:
        run(int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), Ledger("disk"))
