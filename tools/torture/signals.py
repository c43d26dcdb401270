"""SIGSTOP, SIGTERM and SIGINT: a pause changes nothing, jobs end promptly, and the work can be
resumed."""

import json
import pathlib
import random
import signal
import sys
import time

from tools.torture import jobs, kills
from tools.torture.ledger import LOST, UNCLEAR, Ledger
from tools.torture.processes import Job, children, is_running

PROMPT = 120.0
"""Seconds within which a process must end after the signal, on a machine that may be busy."""


def run(seed: int, scale: float, folder: pathlib.Path, ledger: Ledger) -> None:
    """Send all three signals to jobs that take a while."""
    names = ("fit with checkpoint", "sweep", "fit of a table")
    for name in names:
        kill, rng = kills.KILLS[name], random.Random(f"{seed} {name}")
        log = folder / f"{name}.log"
        place = kills._new(folder / f"{name}-whole", kill, log)
        for _ in range(2):  # the first run compiles
            job = Job(
                kill.job, kills._new(folder / f"{name}-{time.monotonic_ns()}", kill, log), log=log
            )
            job.wait()
        job = Job(kill.job, place, log=log)
        if job.wait() != 0:
            ledger.note(name, UNCLEAR, f"undisturbed, the job failed: {kills._tail(log)}")
            continue
        taken, wanted = time.monotonic() - job.began, kill.end(place)
        for number in range(max(1, round(2 * scale))):
            for signal_ in (signal.SIGSTOP, signal.SIGTERM, signal.SIGINT):
                fresh = kills._new(folder / f"{name}-{signal_.name}-{number}", kill, log)
                ledger.begin(name, f"{signal_.name}, {fresh}")
                delay = rng.uniform(0.1, 0.9) * taken
                wrong = [*_signalled(kill.job, fresh, signal_, delay, log)]
                if not wrong:
                    wrong = [*kill.check(fresh, {"end": wanted})]
                    wrong += kills._at_the_end(kill, fresh, wanted, log)
                ledger.judge(f"{name}, {signal_.name}", wrong)
    _watch(folder, ledger)


def _signalled(job_of, place, number, delay, log) -> kills.Wrong:
    job = Job(job_of, place, log=log)
    limit = time.monotonic() + delay
    while time.monotonic() < limit and job.is_alive():
        time.sleep(0.005)
    workers = children(job.pid) if job.is_alive() else []
    job.send(number)
    if number == signal.SIGSTOP:
        time.sleep(1.0)
        if workers:
            _send(workers[0], signal.SIGSTOP)
            time.sleep(0.5)
            _send(workers[0], signal.SIGCONT)
        job.send(signal.SIGCONT)
        if job.wait() != 0:
            yield LOST, f"stopped and continued, it ended with {job.code}: {kills._tail(log)}"
        return
    if job.wait(PROMPT) == 124:
        yield LOST, f"it went on for more than {PROMPT:.0f} s after {number.name}"
    limit = time.monotonic() + kills.ORPHANED
    while any(map(is_running, workers)) and time.monotonic() < limit:
        time.sleep(0.01)
    if any(map(is_running, workers)):
        yield LOST, f"a worker outlived {number.name}"


def _send(pid: int, number: int) -> None:
    import contextlib
    import os

    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def _watch(folder: pathlib.Path, ledger: Ledger) -> None:
    """Check that the live view ends at once and leaves the folder unchanged."""
    place = folder / "watched"
    (place / "runs").mkdir(parents=True)
    (place / "runs" / "a.json").write_text(json.dumps([{"seed": 0, "status": "ok"}]))
    for number in (signal.SIGINT, signal.SIGTERM):
        log = folder / f"watch-{number.name}.log"
        job = Job(jobs.watch, place, log=log)
        limit = time.monotonic() + 120
        while "Watching" not in log.read_text() if log.exists() else True:
            if time.monotonic() > limit:
                break
            time.sleep(0.05)
        job.send(number)
        code, text = job.wait(PROMPT), log.read_text()
        wrong = []
        if code == 124 or "Traceback" in text:
            wrong.append((UNCLEAR, f"exit code {code}: {text[-500:]}"))
        if [path.name for path in place.rglob("*")] != ["runs", "a.json"]:
            wrong.append((LOST, "the watched folder was changed"))
        ledger.judge(f"watch, {number.name}", wrong)


if __name__ == "__main__":
    run(int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), Ledger("signals"))
