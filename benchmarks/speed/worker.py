"""A process of the benchmark, which measures and sends each record to its parent at once."""

import pathlib
import platform
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import jax

from benchmarks.speed import (
    automatic,
    baked,
    convolution,
    cores,
    forms,
    inference,
    memory,
    rivals,
    scaling,
    seeds,
    start,
    streams,
    whole_fit,
)
from benchmarks.speed.settings import Settings, record
from shootax.sweeps import Channel

PARTS: dict[str, Callable[[Settings], Iterator[dict[str, Any]]]] = {
    "race": rivals.records,
    "fit": whole_fit.records,
    "stream": streams.records,
    "cores": cores.records,
    "baked": baked.records,
    "memory": memory.records,
    "scaling": scaling.records,
    "start": start.records,
    "seeds": seeds.records,
    "inference": inference.records,
    "automatic": automatic.records,
    "convolution": convolution.records,
    "forms": forms.records,
}


def records(settings: Settings) -> Iterator[dict[str, Any]]:
    """Yield all records of the requested parts. A dictionary with `note` or `progress` is a message to
    the user."""
    yield machine(settings)
    for part in settings.parts:
        yield from PARTS[part](settings)


def machine(settings: Settings) -> dict[str, Any]:
    """The machine and the versions of the measurements."""
    versions: dict[str, str | None] = {"python": platform.python_version(), "jax": jax.__version__}
    for name in ("diffrax", "torch", "torchdiffeq"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return record(
        "machine",
        _processor(),
        "",
        threads=settings.threads,
        versions=versions,
        quick=settings.quick,
    )


def _processor() -> str:
    try:
        lines = pathlib.Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> None:
    """Measure the parts that each task requests."""
    channel = Channel()
    for task in channel.tasks():
        lists = {name: tuple(task[name]) for name in ("parts", "cases")}
        for entry in records(Settings(**{**task, **lists})):
            channel.say(entry)
        channel.say({"finished": True})


if __name__ == "__main__":
    main()
