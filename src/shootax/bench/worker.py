"""One process of the benchmark: measures, and prints each row as a line of JSON as it comes."""

import json
import pathlib
import platform
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from typing import Any

import jax

from shootax.bench import automatic, forms, inference, memory, rivals, scaling, seeds, start
from shootax.bench.settings import Settings, row

PARTS: dict[str, Callable[[Settings], Iterator[dict[str, Any]]]] = {
    "race": rivals.rows,
    "memory": memory.rows,
    "scaling": scaling.rows,
    "start": start.rows,
    "seeds": seeds.rows,
    "inference": inference.rows,
    "automatic": automatic.rows,
    "forms": forms.rows,
}


def rows(settings: Settings) -> Iterator[dict[str, Any]]:
    """All rows of the parts asked for. A dictionary with `note` or `progress` is for the reader."""
    yield machine(settings)
    for part in settings.parts:
        yield from PARTS[part](settings)


def machine(settings: Settings) -> dict[str, Any]:
    """What the measurements were made on."""
    versions: dict[str, str | None] = {"python": platform.python_version(), "jax": jax.__version__}
    for name in ("diffrax", "torch", "torchdiffeq"):
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = None
    return row(
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


def main(text: str) -> None:
    """Runs the settings given as JSON."""
    values = json.loads(text)
    for name in ("parts", "cases"):
        values[name] = tuple(values[name])
    for entry in rows(Settings(**values)):
        print(json.dumps(entry), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
