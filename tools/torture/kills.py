"""SIGKILL at random moments: files on disk stay whole, and the result is the same as without kills."""

import dataclasses
import hashlib
import json
import pathlib
import random
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# Imported once, here, so that forked processes need not import them. None of them starts JAX.
import pandas  # noqa: F401

import shootax as sx
import shootax.cli.app
import shootax.cli.compress
import shootax.cli.fit
import shootax.cli.predict
import shootax.export
import shootax.sklearn
import shootax.sweeps
from shootax._storage import container
from shootax.export._stablehlo import MARK
from tools.torture import jobs
from tools.torture.ledger import LOST, SILENT, UNCLEAR, Ledger
from tools.torture.processes import Job, children, is_running, kill_worker

Wrong = Iterator[tuple[str, str]]

ORPHANED = 180.0
"""Seconds within which a worker must end after its parent. On a busy machine, it may still be
importing."""


@dataclasses.dataclass
class Kill:
    """A job, the check after every kill, and the function that reads its final result for comparison."""

    job: Callable[[pathlib.Path], None]
    count: int
    check: Callable[[pathlib.Path, dict[str, Any]], Wrong]
    end: Callable[[pathlib.Path], Any]
    prepare: Callable[[pathlib.Path], None] | None = None
    each: int = 5
    """The number of kills before the job may end."""


def run(seed: int, scale: float, folder: pathlib.Path, ledger: Ledger, only: str = "") -> None:
    """Kill every job `scale` times its count."""
    for name, kill in KILLS.items():
        if only in name:
            rng = random.Random(f"{seed} {name}")
            _kills(name, kill, max(1, round(kill.count * scale)), rng, folder, ledger)


def _kills(
    name: str, kill: Kill, count: int, rng: random.Random, folder: pathlib.Path, ledger: Ledger
) -> None:
    """Run the job undisturbed first, which also compiles; then run rounds of kills, each to its end."""
    log = folder / f"{name}.log"
    taken, known = 0.0, {}
    for attempt in range(2):
        place = _new(folder / f"{name}-{attempt}", kill, log)
        job = Job(kill.job, place, log=log)
        if job.wait() != 0:
            ledger.note(name, UNCLEAR, f"undisturbed, the job failed: {_tail(log)}")
            return
        taken, known["end"] = time.monotonic() - job.began, kill.end(place)
    targets = ["parent", "worker", "both"] if name == "sweep" else ["process"]
    done, attempts = 0, 0
    while done < count and attempts < 5 * count + 20:
        place = _new(folder / f"{name}-round-{attempts}", kill, log)
        seen = {**known, "place": place}
        pending: list[tuple[str, list]] = []
        for _ in range(min(kill.each, count - done)):
            attempts += 1
            target = targets[(done + len(pending)) % len(targets)]
            ledger.begin(name, f"{target}, {place}")
            before, job = _finished(place), Job(kill.job, place, log=log)
            if not _killed(job, target, rng.uniform(0, taken)):
                taken = min(taken, time.monotonic() - job.began)  # the machine is less busy now
                break
            wrong = [*kill.check(place, seen), *_repeated(place, before)]
            pending.append((f"{name}, {target}" if len(targets) > 1 else name, wrong))
        for case, wrong in pending[:-1]:
            ledger.judge(case, wrong)
        if pending:
            case, wrong = pending[-1]
            ledger.judge(case, [*wrong, *_at_the_end(kill, place, known["end"], log)])
            done += len(pending)


def _new(place: pathlib.Path, kill: Kill, log: pathlib.Path) -> pathlib.Path:
    """A folder with the files that the job needs, which are made once and copied."""
    ready = log.with_suffix(".ready")
    if not ready.exists():
        ready.mkdir()
        if kill.prepare is not None and Job(kill.prepare, ready, log=log).wait() != 0:
            raise RuntimeError(f"{ready} could not be prepared: {_tail(log)}")
    shutil.copytree(ready, place)
    return place


def _killed(job: Job, target: str, delay: float) -> bool:
    """Kill after a delay; return whether there was a process to kill. No process is left behind."""
    limit = time.monotonic() + delay
    while time.monotonic() < limit and job.is_alive():
        time.sleep(min(0.002, delay))
    workers = children(job.pid) if target != "process" and job.is_alive() else []
    hit = kill_worker(job) if target in ("worker", "both") else False
    if target == "worker":
        job.wait()
        return hit
    hit = job.send(signal.SIGKILL) or hit
    job.wait()
    limit = time.monotonic() + ORPHANED
    while any(map(is_running, workers)):
        if time.monotonic() > limit:
            raise RuntimeError("a worker outlived its parent")
        time.sleep(0.01)
    return hit


def _at_the_end(kill: Kill, place: pathlib.Path, wanted: Any, log: pathlib.Path) -> Wrong:
    """Run the job to its end without kills, and check that the result is the expected one."""
    for _ in range(3):  # runs of a sweep whose worker was killed are repeated by the next call
        code = Job(kill.job, place, log=log).wait()
        if code:
            yield LOST, f"could not be finished, exit code {code}: {_tail(log)}"
            return
        found = kill.end(place)
        if found == wanted:
            return
    yield SILENT, f"another result in {place}: {str(found)[:300]} instead of {str(wanted)[:300]}"


def _finished(place: pathlib.Path) -> set[str]:
    (place / "begun").unlink(missing_ok=True)
    return set(jobs.finished(place)) if (place / "out" / "runs").is_dir() else set()


def _repeated(place: pathlib.Path, before: set[str]) -> Wrong:
    """Check that finished runs of a sweep are not run again."""
    begun = place / "begun"
    again = before & set(begun.read_text().split()) if begun.exists() else set()
    if again:
        yield LOST, f"finished runs were repeated: {sorted(again)}"
    if before and before - set(jobs.finished(place)):
        yield LOST, f"finished runs are gone: {sorted(before - set(jobs.finished(place)))}"


def _tail(log: pathlib.Path) -> str:
    return log.read_text(errors="replace")[-600:]


def _digest(path: pathlib.Path) -> str | None:
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else None


def _model(path: pathlib.Path) -> Any:
    """A digest of a model file without its times."""
    if not path.exists():
        return None
    header, tensors, _ = container.read(path)
    record = json.loads(header["record"])
    for about in (record, record.get("estimator", {}).get("training", {})):
        about.pop("seconds", None)
    kept = {name: (str(t.dtype), t.shape, t.tobytes()) for name, t in tensors.items()}
    return hashlib.sha256(repr((header["model"], record, kept)).encode()).hexdigest()


def _one_of(path: pathlib.Path, allowed: list[Any], read: Callable[[pathlib.Path], Any]) -> Wrong:
    try:
        found = read(path)
    except sx.FileFormatError as error:
        yield LOST, f"{path} is damaged: {error}"
        return
    if found not in allowed:
        yield LOST, f"{path} is neither the old file nor the new one"


def _check_save(place: pathlib.Path, seen: dict[str, Any]) -> Wrong:
    path = place / "net.safetensors"
    allowed = [_digest(place / f"{name}.safetensors") for name in "ab"]
    yield from _one_of(path, allowed if seen.get("there") else [None, *allowed], _digest)
    seen["there"] = path.exists()


def _check_fit(place: pathlib.Path, seen: dict[str, Any]) -> Wrong:
    """Check that the checkpoint is whole, and never older than before."""
    path, epoch = place / "training.ckpt", 0
    if path.exists():
        try:
            epoch = json.loads(container.read(path).header["record"])["epoch"]
        except sx.FileFormatError as error:
            yield LOST, f"{path} is damaged: {error}"
            return
    if epoch < seen.get("epoch", 0):
        yield LOST, f"epoch {seen['epoch']} was on the disk, now {epoch}"
    seen["epoch"] = epoch


def _check_sweep(place: pathlib.Path, seen: dict[str, Any]) -> Wrong:
    for path in (place / "out").rglob("*.json"):
        try:
            json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            yield LOST, f"{path} is damaged: {error}"
    for path in (place / "out").rglob("*.safetensors"):
        try:
            container.read(path)
        except sx.FileFormatError as error:
            yield LOST, f"{path} is damaged: {error}"


def _end_of_sweep(place: pathlib.Path) -> Any:
    runs = json.loads((place / "out" / "results.json").read_text(encoding="utf-8"))
    numbers = [(run["x"], run["seed"], run["status"], run.get("objective")) for run in runs]
    left = sorted(path.name for path in (place / "out" / "checkpoints").iterdir())
    models = {p.parent.name: _model(p) for p in sorted((place / "out").rglob("net.safetensors"))}
    return numbers, left, models


def _check_table(place: pathlib.Path, seen: dict[str, Any]) -> Wrong:
    path = place / "model.safetensors"
    seen.setdefault("old", _model(place / "old.safetensors"))
    yield from _one_of(path, [seen["old"], seen["end"]], _model)
    if (place / "data.csv").read_text(encoding="utf-8") != jobs.CSV:
        yield LOST, "the table was changed"


def _prepare_table(place: pathlib.Path) -> None:
    jobs.prepare_table(place)
    (place / "old.safetensors").write_bytes((place / "model.safetensors").read_bytes())


def _check_answers(place: pathlib.Path, seen: dict[str, Any]) -> Wrong:
    yield from _one_of(place / "answers.csv.gz", [None, seen["end"]], _digest)


def _export(path: pathlib.Path) -> str | None:
    """A digest of an export. StableHLO files contain source locations and so always differ: they are only
    checked to be whole."""
    if path.suffix != ".stablehlo":
        return _digest(path)
    program, mark, digest = path.read_bytes().rpartition(MARK)
    return "whole" if mark and digest == hashlib.sha256(program).digest() else "damaged"


def _exports(place: pathlib.Path) -> dict[str, str | None]:
    return {path.name: _export(path) for path in sorted(place.glob("net-*"))
            if not path.name.endswith(".part")}  # fmt: skip


def _check_export(place: pathlib.Path, seen: dict[str, Any]) -> Wrong:
    old = seen.setdefault("old", json.loads((place / "old.json").read_text()))
    for name, digest in _exports(place).items():
        if digest not in (old[name], seen["end"][name]):
            yield LOST, f"{name} is neither the old file nor the new one"


def _prepare_export(place: pathlib.Path) -> None:
    jobs.prepare_export(place)
    (place / "old.json").write_text(json.dumps(_exports(place)))


def _check_compress(place: pathlib.Path, seen: dict[str, Any]) -> Wrong:
    yield from _one_of(place / "few.safetensors", [None, seen["end"]], _model)


KILLS = {
    "save": Kill(
        jobs.save, 60, _check_save, lambda p: _digest(p / "net.safetensors"), jobs.prepare_save, 10
    ),
    "fit with checkpoint": Kill(
        jobs.fit, 40, _check_fit, lambda p: _model(p / "net.safetensors")
    ),
    "sweep": Kill(jobs.sweep, 36, _check_sweep, _end_of_sweep, each=6),
    "fit of a table": Kill(
        jobs.table, 20, _check_table, lambda p: _model(p / "model.safetensors"), _prepare_table
    ),
    "predict": Kill(
        jobs.predict, 20, _check_answers, lambda p: _digest(p / "answers.csv.gz"), _prepare_table
    ),
    "export": Kill(jobs.export, 30, _check_export, _exports, _prepare_export, 6),
    "compress": Kill(
        jobs.compress, 8, _check_compress, lambda p: _model(p / "few.safetensors"),
        jobs.prepare_compress, 4,
    ),
}  # fmt: skip


if __name__ == "__main__":
    run(
        int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), Ledger("kills"),
        *sys.argv[4:5],
    )  # fmt: skip
