"""Load: threads that predict, hundreds of fits in one process, a million samples."""

import gc
import pathlib
import resource
import sys
import threading
import time
from typing import Any

import numpy as np

from tools.torture import jobs
from tools.torture.ledger import LOST, SILENT, SURVIVED, UNCLEAR, Ledger, described

FITS, SAMPLES, THREADS = 200, 1_000_000, 4
GROWTH = 200
"""Megabytes by which the process may grow between the first and the last quarter of the fits."""


def run(seed: int, scale: float, folder: pathlib.Path, ledger: Ledger) -> None:
    """Run all three."""
    for case, work in (
        ("threads", _threads),
        ("fits in one process", _fits),
        ("samples", _samples),
    ):
        ledger.begin(case)
        try:
            work(seed, scale, ledger)
        except Exception as error:
            ledger.note(case, UNCLEAR, described(error))


def _threads(seed: int, scale: float, ledger: Ledger) -> None:
    """Check that many threads get the same numbers as a single thread."""
    import shootax as sx

    nets = [jobs.net(seed + i, particles=2 + i) for i in range(THREADS)]
    batches = [np.random.default_rng(i).normal(size=(64, 1)).astype(np.float32) for i in range(8)]
    found: dict[tuple[int, int], Any] = {}
    errors: list[BaseException] = []

    def predict(k: int) -> None:
        try:
            for i in range(len(batches)):
                for net in range(THREADS):
                    at = (net + k) % THREADS  # all compile the same programs at about the same time
                    value = np.asarray(sx.predict(nets[at], batches[i]))
                    found[k, at * len(batches) + i] = value
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=predict, args=(k,)) for k in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(600)
    hanging = sum(thread.is_alive() for thread in threads)
    if hanging or errors:
        ledger.note("threads", LOST, f"{hanging} hang, {[described(e) for e in errors][:3]}")
    for (_, place), value in sorted(found.items()):
        at, i = divmod(place, len(batches))
        same = np.array_equal(value, np.asarray(sx.predict(nets[at], batches[i])))
        ledger.note("threads", SURVIVED if same else SILENT, f"net {at}, batch {i}")


def _fits(seed: int, scale: float, ledger: Ledger) -> None:
    """Fit many kinds of nets, most of which compile; check that memory and maps of the process stay
    bounded."""
    import jax

    import shootax as sx

    x, y = jobs.data()
    sizes, maps, count = [], [], max(8, round(FITS * scale))
    for i in range(count):
        field = sx.UpDown(1, 1 + i % 3) if i % 2 else sx.Affine(1)
        net = sx.Net(field, particles=1 + i % 4, integrator=sx.Euler(2), key=jax.random.key(i))
        result = sx.fit(net, x, y, epochs=1 + i % 2, seed=seed)
        finite = all(np.isfinite(result.history["objective"]))
        ledger.note("fits in one process", SURVIVED if finite else SILENT, f"fit {i}")
        gc.collect()
        sizes.append(_megabytes())
        maps.append(_maps())
    early, late = max(sizes[count // 4 : count // 2]), sizes[-1]
    ledger.measure(fits=count, megabytes_early=early, megabytes_late=late,
                   maps_early=maps[count // 4], maps_late=maps[-1])  # fmt: skip
    if late > early + GROWTH:
        ledger.note("fits in one process", LOST, f"memory grew from {early} to {late} MB")


def _samples(seed: int, scale: float, ledger: Ledger) -> None:
    """Predict and fit a batch of a million samples, with bounded memory."""
    import shootax as sx

    count = max(1000, round(SAMPLES * scale))
    x = np.random.default_rng(seed).normal(size=(count, 1)).astype(np.float32)
    net, began, before = jobs.net(0), time.monotonic(), _peak()
    found = np.asarray(sx.predict(net, x))
    some = np.random.default_rng(seed).integers(0, count, 200)
    gap = float(np.max(np.abs(found[some] - np.asarray(net(x[some])))))
    fine = found.shape == (count, 1) and np.all(np.isfinite(found)) and gap < 1e-5
    ledger.note("samples", SURVIVED if fine else SILENT, f"largest difference {gap}")
    result = sx.fit(net, x, x**2, epochs=1, batch_size=count // 10 or 1)
    fine = np.all(np.isfinite(result.history["objective"]))
    ledger.note("samples", SURVIVED if fine else SILENT, "fit")
    ledger.measure(samples=count, seconds_of_samples=round(time.monotonic() - began, 1),
                   megabytes_more_at_the_peak=_peak() - before)  # fmt: skip


def _megabytes() -> int:
    try:
        pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() // 2**20
    except OSError:
        return _peak()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def _maps() -> int | None:
    try:
        with open("/proc/self/maps", "rb") as lines:
            return sum(1 for _ in lines)
    except OSError:
        return None


if __name__ == "__main__":
    run(int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), Ledger("load"))
