"""`python -m tools.torture`: inject faults, and print one table of the outcomes.

python -m tools.torture --json torture.json
python -m tools.torture --parts fuzz,kills --seed 7 --scale 0.1
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tools.torture.ledger import LOST, failures, table
from tools.torture.ledger import rows as counted

PARTS = {
    "fuzz": "damaged files of every kind",
    "inputs": "the table of bad inputs, hostile files and hostile folders",
    "kills": "SIGKILL at random moments",
    "signals": "SIGSTOP, SIGTERM, SIGINT",
    "disk": "a full disk",
    "load": "threads, many fits in one process, a million rows",
}
LONGEST = 3600.0
"""Seconds after which a part counts as hanging, at scale 1."""

ROOT = pathlib.Path(__file__).parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the parts, each in its own process; return 0 if nothing fails."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog="parts: " + "; ".join(f"{name}: {about}" for name, about in PARTS.items()),
    )
    add = parser.add_argument
    add("--parts", default=",".join(PARTS), help="parts, separated by commas; all by default")
    add(
        "--only",
        default="",
        help="of the parts fuzz and kills, only cases with this text in their name",
    )
    add("--seed", type=int, default=0, help="seed of all random choices")
    add("--scale", type=float, default=1.0, help="1 is the full campaign, 0.01 a quick check")
    add(
        "--json",
        type=pathlib.Path,
        default=None,
        help="file for the results, rewritten as they come",
    )
    add(
        "--folder",
        type=pathlib.Path,
        default=None,
        help="folder to work in; a temporary folder by default",
    )
    given = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that nothing is left running
    parts = [name.strip() for name in given.parts.split(",") if name.strip()]
    unknown = [name for name in parts if name not in PARTS]
    if unknown or not parts or given.scale <= 0:
        parser.error(f"--parts takes {', '.join(PARTS)}, and --scale a positive number")
    entries: list[dict[str, Any]] = []
    settings = {"parts": parts, "only": given.only, "seed": given.seed, "scale": given.scale}
    with tempfile.TemporaryDirectory(prefix="torture-", dir=given.folder) as folder:
        for part in parts:
            for entry in run_part(part, given.seed, given.scale, pathlib.Path(folder), given.only):
                entries.append(entry)
                if given.json is not None:
                    _store(given.json, settings, entries)
    if given.json is not None:
        _store(given.json, settings, entries, last=True)
    print(table(entries))
    for entry in entries:
        if "measured" in entry:
            print(
                f"\n{entry['part']}: " + ", ".join(f"{k} {v}" for k, v in entry["measured"].items())
            )
    bad = failures(entries)
    for entry in bad[:50]:
        print(f"\n{entry['outcome'].upper()}: {entry['part']}, {entry['case']}: {entry['detail']}")
    return 1 if bad or not any("outcome" in entry for entry in entries) else 0


def run_part(
    part: str, seed: int, scale: float, folder: pathlib.Path, only: str = ""
) -> Iterator[dict[str, Any]]:
    """Yield the entries of a part as they come. A part that dies or hangs counts as one more loss."""
    place = folder / part
    place.mkdir()
    command = [sys.executable, "-m", f"tools.torture.{part}", str(seed), str(scale), str(place)]
    command += [only] if only and part in ("fuzz", "kills") else []
    began, last = time.monotonic(), {"case": "start", "begin": ""}
    with open(folder / f"{part}.err", "w+", encoding="utf-8") as errors:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=ROOT,
            env=environment(folder), start_new_session=True,
        )  # fmt: skip
        limit = LONGEST * max(scale, 0.2)
        timer = _Timer(process, limit)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                entry = json.loads(line)
                if "begin" in entry:
                    last = entry
                else:
                    yield entry
            code = process.wait()
        finally:
            timer.stop()
            _end(process)
        if code:
            errors.seek(0)
            reason = f"it took more than {limit:.0f} s" if timer.fired else f"exit code {code}"
            yield {
                "part": part, "case": last["case"], "outcome": LOST,
                "detail": f"the process of this part ended: {reason}, at {last['begin']}\n"
                + errors.read()[-1500:],
            }  # fmt: skip
    yield {"part": part, "measured": {"seconds": round(time.monotonic() - began)}}


def environment(folder: pathlib.Path) -> dict[str, str]:
    """The environment: one thread, a cache of compiled programs, and this checkout first on the path."""
    cache = os.environ.get("JAX_COMPILATION_CACHE_DIR") or str(
        pathlib.Path(tempfile.gettempdir()) / f"shootax-torture-programs-{os.getuid()}"
    )
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "JAX_COMPILATION_CACHE_DIR": cache,
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "XDG_CACHE_HOME": cache,
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "NPROC": "1",
        "COLUMNS": "120",
    }


class _Timer:
    def __init__(self, process: subprocess.Popen, seconds: float):
        self.fired = False
        self._process = process
        self._timer = threading.Timer(seconds, self._end)
        self._timer.daemon = True
        self._timer.start()

    def _end(self) -> None:
        self.fired = True
        _end(self._process)

    def stop(self) -> None:
        self._timer.cancel()


def _end(process: subprocess.Popen) -> None:
    """End the part and all the processes that it started."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _store(
    path: pathlib.Path, settings: dict[str, Any], entries: list[dict[str, Any]], last: bool = False
) -> None:
    """Rewrite the results, at most every few seconds until the last time."""
    now = time.monotonic()
    if not last and now - _stored.get(path, 0.0) < 5:
        return
    _stored[path] = now
    kept = [e for e in entries if e.get("outcome") != "survived"]
    rows = [{"part": part, "case": case, **count} for part, case, count in counted(entries)]
    text = json.dumps(
        {"settings": settings, "complete": last, "rows": rows, "notes": kept}, indent=1
    )
    part = path.with_name(path.name + ".part")
    part.write_text(text + "\n", encoding="utf-8")
    os.replace(part, path)


_stored: dict[pathlib.Path, float] = {}


if __name__ == "__main__":
    sys.exit(main())
