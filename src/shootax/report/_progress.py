"""The progress of the trainings in a folder, read only from their files."""

import json
import os
import pathlib
import re
import statistics
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from shootax.sweeps import Store

LARGEST_JSON, LARGEST_CHECKPOINT = 8_000_000, 2_000_000_000
RUNS, CURVES, POINTS = 500, 12, 200
"""The largest numbers of runs, of curves and of points per curve that are sent to the page."""

NAME = re.compile(r"history\.(\d+)\.(.+)", re.DOTALL)


def progress(folder: pathlib.Path) -> dict[str, Any]:
    """Finished runs, curves of running trainings, the number of runs left, and the time they need."""
    settings = _settings(folder)
    groups, damaged = _groups(folder)
    runs = [run for _, _, group in groups for run in group]
    total = _planned(settings)
    left = None if total is None else max(total - len(runs), 0)
    curves, unread = _curves(folder)
    return {
        "folder": folder.name,
        "settings": _short(settings),
        "total": total,
        "finished": len(runs),
        "left": left,
        "statuses": _counted(run.get("status") for run in runs),
        "seconds_left": _seconds_left([(when, len(group)) for when, _, group in groups], left),
        "columns": _columns(runs),
        "runs": runs[-RUNS:],
        "curves": curves,
        "damaged": sorted(damaged + unread),
        "now": time.time(),
    }


def inside(folder: pathlib.Path, path: pathlib.Path, largest: int) -> bool:
    """Whether a path is a regular file inside the folder, and no link leads out of the folder."""
    try:
        real = pathlib.Path(os.path.realpath(path))
        return (
            real.is_relative_to(os.path.realpath(folder))
            and real.is_file()
            and real.stat().st_size <= largest
        )
    except OSError:
        return False


def _read_json(folder: pathlib.Path, path: pathlib.Path) -> Any:
    if not inside(folder, path, LARGEST_JSON):
        return None
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None


def _settings(folder: pathlib.Path) -> dict[str, Any]:
    found = _read_json(folder, folder / "sweep.json")
    settings = found.get("settings") if isinstance(found, dict) else None
    return settings if isinstance(settings, dict) else {}


def _groups(folder: pathlib.Path) -> tuple[list[tuple[float, str, list[dict]]], list[str]]:
    """The end, the name and the runs of each group, in the order of time, and damaged files."""
    found, damaged = [], []
    for path in _listed(folder / "runs", ".json"):
        try:
            if not inside(folder, path, LARGEST_JSON):
                raise ValueError
            runs = Store.read_runs(path)
            when = path.stat().st_mtime
        except (OSError, ValueError):  # incomplete, too large, or deleted since it was listed
            damaged.append(path.name)
            continue
        found.append((when, path.stem, [_plain_run(run) for run in runs]))
    if not found and not damaged:  # a compact copy of a sweep only has its results
        runs = _read_json(folder, folder / "results.json")
        if isinstance(runs, list) and all(isinstance(run, dict) for run in runs):
            found = [(0.0, "results", [_plain_run(run) for run in runs])]
    return sorted(found, key=lambda group: group[:2]), damaged


def _listed(folder: pathlib.Path, ending: str) -> Iterator[pathlib.Path]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    yield from (folder / name for name in names if name.endswith(ending))


def _plain_run(run: dict[str, Any]) -> dict[str, Any]:
    """The columns of a run that fit into a table."""
    return {
        str(name)[:200]: value[:500] if isinstance(value, str) else value
        for name, value in run.items()
        if value is None or isinstance(value, str | int | float | bool)
    }


def _columns(runs: list[dict[str, Any]]) -> list[str]:
    names: dict[str, None] = {}
    for run in runs:
        names.update(dict.fromkeys(run))
    return list(names)[:40]


def _counted(values: Iterable[Any]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for value in values:
        counts[str(value)] = counts.get(str(value), 0) + 1
    return counts


def _planned(settings: dict[str, Any]) -> int | None:
    """The number of runs of a sweep, if its settings determine it."""
    configurations, seeds = settings.get("configurations"), settings.get("seeds")
    if isinstance(configurations, list) and isinstance(seeds, list):
        return len(configurations) * len(seeds)
    if not isinstance(settings.get("experiment"), str):
        return None
    from shootax.paper import EXPERIMENTS, Settings, planned

    try:
        experiment = EXPERIMENTS[settings["experiment"]]
        groups = planned(experiment, Settings.from_json(settings))
        return sum(len(group.seeds) for group in groups)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _seconds_left(ends: list[tuple[float, int]], left: int | None) -> float | None:
    """Estimate the remaining time from the median time between the ends of groups, which an
    interruption hardly changes."""
    if not left or len(ends) < 2:
        return 0.0 if left == 0 else None
    gaps = [
        (ends[i + 1][0] - ends[i][0]) / max(ends[i + 1][1], 1)
        for i in range(len(ends) - 1)
    ]  # fmt: skip
    return statistics.median(gaps) * left


def _short(settings: dict[str, Any]) -> dict[str, str]:
    return {str(key)[:100]: json.dumps(value)[:300] for key, value in settings.items()}


def _curves(folder: pathlib.Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The histories in the checkpoints of a sweep or, otherwise, of the folder itself."""
    places = [*_listed(folder / "checkpoints", ".safetensors"), *_listed(folder, ".safetensors")]
    curves, unread = [], []
    for path in places:
        if len(curves) >= CURVES:
            break
        if not inside(folder, path, LARGEST_CHECKPOINT):
            continue
        try:
            curves += _histories(path)
        except Exception:  # another process may be writing it, so no error may stop the view
            unread.append(path.name)
    return curves[:CURVES], unread


def _histories(path: pathlib.Path) -> list[dict[str, Any]]:
    from safetensors import safe_open

    histories: dict[int, dict[str, list[list[float | None]]]] = {}
    with safe_open(path, framework="numpy") as file:
        about = file.metadata() or {}
        if about.get("program") != "shootax" or "checkpoint" not in about:
            return []  # a model, not a training
        for key in file.keys():  # noqa: SIM118 - not a dictionary
            match = NAME.fullmatch(key)
            if match:
                column = np.asarray(file.get_tensor(key), np.float64).ravel()
                histories.setdefault(int(match[1]), {})[match[2]] = _thinned(column)
    when = path.stat().st_mtime
    return [
        {
            "name": path.stem + (f" #{i + 1}" if len(histories) > 1 else ""),
            "when": when,
            "columns": h,
        }
        for i, h in sorted(histories.items())
    ]


def _thinned(column: np.ndarray) -> list[list[float | None]]:
    """Pairs of an epoch and its value, thinned out if there are many."""
    kept = np.unique(np.round(np.linspace(0, max(len(column) - 1, 0), POINTS)).astype(int))
    kept = kept[kept < len(column)]
    return [[int(i) + 1, float(column[i]) if np.isfinite(column[i]) else None] for i in kept]
