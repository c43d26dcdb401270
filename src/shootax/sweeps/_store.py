"""The folder of a sweep: its settings, and the results so far."""

import contextlib
import json
import os
import pathlib
import platform
import shutil
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

import shootax
from shootax import FileFormatError
from shootax import _checks as checks
from shootax._files import checksum, is_temporary, remove_temporaries, write_json
from shootax.sweeps._lock import locked
from shootax.sweeps._plan import Group

Run = dict[str, Any]
STATUSES = ("ok", "diverged", "failed")
PACKAGES = ("shootax", "jax", "jaxlib", "equinox", "optax", "diffrax", "numpy", "scipy")


class Store:
    """The folder of a sweep.

    It contains `sweep.json` (settings and versions), `results.json` (all runs), and the folders
    `runs/`, `models/` and `checkpoints/`, with a file for each group of seeds or each run.

    **Arguments:** `folder`: the folder of the sweep.
    """

    def __init__(self, folder: str | os.PathLike):
        self.folder = pathlib.Path(checks.path(folder, "The folder of a sweep"))
        self.runs = self.folder / "runs"
        self.models = self.folder / "models"
        self.checkpoints = self.folder / "checkpoints"
        self._published: list[Run] = []

    def open(self, settings: dict[str, Any]) -> None:
        """Create the folder, or check that it holds the same sweep."""
        if (self.folder / "sweep.json").exists():
            old = _read_about(self.folder / "sweep.json").get("settings")
            if old != settings:
                raise ValueError(
                    f"{self.folder} holds a sweep with other settings "
                    f"({_difference(old, settings)}). Nothing was changed. Choose another folder "
                    "with --out, or use the same settings."
                )
        elif self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file. Choose a folder with --out.")
        elif self.folder.exists() and not all(map(self._left_by_a_start, self.folder.iterdir())):
            raise ValueError(
                f"{self.folder} is not empty and holds no sweep. Nothing was changed. Choose a new "
                "folder with --out."
            )
        try:
            for folder in (self.runs, self.models, self.checkpoints):
                folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / "sweep.json").exists():
                about = {"settings": settings, "versions": _versions()}
                write_json(self.folder / "sweep.json", {**about, "checksum": checksum(about)})
        except OSError as error:
            raise ValueError(
                f"{self.folder} cannot be written to ({error.strerror}). Choose another folder with "
                "--out."
            ) from error
        if not any(self.runs.iterdir()):
            with contextlib.suppress(FileFormatError):  # then nothing counts as finished
                self._published = read_results(self.folder)

    def _left_by_a_start(self, path: pathlib.Path) -> bool:
        """Whether `path` may be left over from a sweep that was killed before it wrote `sweep.json`."""
        if path.is_dir():
            own = path in (self.runs, self.models, self.checkpoints)
            return own and not path.is_symlink() and not any(path.iterdir())
        return is_temporary(path, self.folder / "sweep.json")

    def exists(self) -> bool:
        """Whether the folder and its subfolders still exist."""
        folders = (self.runs, self.models, self.checkpoints)
        return all(folder.is_dir() for folder in folders)

    def read_group(self, group: Group) -> list[Run] | None:
        """The runs of a group, or `None` if there are none or the file is damaged. The group then
        counts as not run."""
        path = self.runs / f"{group.name}.json"
        try:
            runs = self.read_runs(path)
            seeds = [run["seed"] for run in runs]
            known = all(run["status"] in STATUSES for run in runs)
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return runs if known and seeds == list(group.seeds) else None

    @staticmethod
    def read_runs(path: str | os.PathLike) -> list[Run]:
        """The runs in the file of one group. Raises if the file is damaged."""
        value = _read(pathlib.Path(path), (dict, list))
        if isinstance(value, dict):  # older versions wrote the list alone
            if value.keys() != {"runs", "checksum"} or value["checksum"] != checksum(value["runs"]):
                raise FileFormatError(f"{path} is damaged: its checksum does not match.")
            value = value["runs"]
        if not isinstance(value, list) or not all(isinstance(run, dict) for run in value):
            raise FileFormatError(f"{path} is damaged: expected a list of runs.")
        return value

    def finished(self, groups: Sequence[Group]) -> dict[str, list[Run]]:
        """The runs of all groups that succeeded or diverged. Groups that failed for another reason,
        such as lack of memory, are not included and run again. In a folder without `runs/`, such as
        published results, the runs are read from `results.json`."""
        for group in groups:
            runs = _of_group(group, self._published)
            if runs is not None and not (self.runs / f"{group.name}.json").exists():
                self.write_group(group, runs)
        read = {group.name: self.read_group(group) for group in groups}
        return {
            name: runs
            for name, runs in read.items()
            if runs is not None and all(run["status"] != "failed" for run in runs)
        }

    def damaged(self, groups: Sequence[Group]) -> list[pathlib.Path]:
        """The files of groups that exist and cannot be read."""
        paths = {self.runs / f"{group.name}.json": group for group in groups}
        return [p for p, group in paths.items() if p.exists() and self.read_group(group) is None]

    def write_group(self, group: Group, runs: list[Run]) -> None:
        """Store the runs of a group. Once they are on disk, remove the group's checkpoint, unless a
        run failed and will be repeated."""
        path = self.runs / f"{group.name}.json"
        write_json(path, {"runs": runs, "checksum": checksum(runs)})
        if any(run["status"] == "failed" for run in runs):
            return
        for place in (path, path.parent):
            with contextlib.suppress(OSError):  # not every system can sync a folder
                _to_disk(place)
        checkpoint = self.checkpoint(group)
        if checkpoint.is_dir():
            shutil.rmtree(checkpoint)
        else:
            checkpoint.unlink(missing_ok=True)
        remove_temporaries(checkpoint, older=0.0)  # its only writer has finished

    def checkpoint(self, group: Group) -> pathlib.Path:
        """The path of a group's checkpoint."""
        return self.checkpoints / f"{group.name}.safetensors"

    def collect(self, groups: Sequence[Group]) -> list[Run]:
        """Write `results.json` from the files of all groups, in the order of the plan."""
        runs = [run for group in groups for run in self.read_group(group) or ()]
        write_json(self.folder / "results.json", runs)
        return runs

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Lock the folder, so that only one sweep works in it at a time."""
        with locked(self.folder / ".lock") as free:
            if not free:
                raise ValueError(
                    f"Another process is working in {self.folder}. Wait for it, or choose another "
                    "folder with --out."
                )
            yield


def failed(group: Group, reason: str) -> list[Run]:
    """The runs of a group that failed as a whole."""
    end = {"seconds": None, "status": "failed", "reason": reason}
    return [{**group.config, "seed": seed, **end} for seed in group.seeds]


def _of_group(group: Group, runs: Sequence[Run]) -> list[Run] | None:
    """The runs of a group out of all `runs`, or `None` if any is missing."""
    columns = group.config.items()
    mine = [run for run in runs if all(run.get(name) == value for name, value in columns)]
    by_seed = {run["seed"]: run for run in mine}
    return [by_seed[seed] for seed in group.seeds] if set(group.seeds) <= set(by_seed) else None


def read_results(folder: str | os.PathLike) -> list[Run]:
    """Read the results of a sweep, one dictionary per run.

    **Arguments:** `folder`: the folder of the sweep.
    """
    path = pathlib.Path(checks.path(folder, "The folder of a sweep")) / "results.json"
    if not path.exists():
        raise FileFormatError(
            f"{folder} has no results. Pass a folder that a sweep or `shootax reproduce --out` has "
            "written."
        )
    runs = _read(path, (list,))
    if not all(isinstance(run, dict) and {"seed", "status"} <= run.keys() for run in runs):
        raise FileFormatError(f"{path} is not a list of runs.")
    return runs


def read_settings(folder: str | os.PathLike) -> dict[str, Any]:
    """Read the settings that a sweep was started with.

    **Arguments:** `folder`: the folder of the sweep.
    """
    path = pathlib.Path(checks.path(folder, "The folder of a sweep")) / "sweep.json"
    if not path.exists():
        raise FileFormatError(f"{folder} has no results: {path.name} is missing.")
    settings = _read_about(path).get("settings")
    if not isinstance(settings, dict):
        raise FileFormatError(f"{path} is damaged: it has no settings.")
    return settings


def _read_about(path: pathlib.Path) -> dict[str, Any]:
    """The settings and versions of a sweep, with a checksum unless an older version wrote them."""
    about = _read(path, (dict,))
    written = about.pop("checksum", None)
    if about.keys() - {"settings", "versions"} or written not in (None, checksum(about)):
        raise FileFormatError(
            f"{path} is damaged: its checksum does not match. Nothing was changed. Restore it, or "
            "choose another folder."
        )
    return about


def _read(path: pathlib.Path, kinds: tuple[type, ...]) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(
            f"{path} is damaged ({error}). Nothing was changed. Restore it, or remove it to make it "
            "again."
        ) from error
    if not isinstance(value, kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise FileFormatError(f"{path} is damaged: expected a {names}.")
    return value


def _to_disk(path: pathlib.Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _difference(old: Any, new: dict[str, Any]) -> str:
    if not isinstance(old, dict):
        return "they cannot be read"
    old, new = ({**each, **(each.get("options") or {})} for each in (old, new))
    names = [name for name in {**old, **new} if name != "options"]
    changed = [name for name in names if old.get(name) != new.get(name)]
    return "; ".join(
        f"{name}: there {old.get(name)!r}, here {new.get(name)!r}" for name in changed[:3]
    )


def package_versions() -> dict[str, str]:
    """The installed versions of the packages that results depend on."""
    found = {}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return {**found, "shootax": shootax.__version__}


def _versions() -> dict[str, str]:
    here = {"python": platform.python_version(), "machine": platform.platform()}
    return {**here, **package_versions()}
