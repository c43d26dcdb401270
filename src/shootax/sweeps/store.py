"""The folder of a sweep: what was asked for, and what has come of it so far."""

import contextlib
import json
import os
import pathlib
import platform
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any

from shootax.errors import FileFormatError
from shootax.files import write_json
from shootax.sweeps.plan import Configuration, Group, Settings

PACKAGES = ("shootax", "jax", "jaxlib", "equinox", "optax", "diffrax", "numpy", "scipy")


class Store:
    """`sweep.json` (settings and versions), `results.json` (all runs), and below them `runs/`,
    `models/` and `checkpoints/`, a file for each group of seeds or each run."""

    def __init__(self, folder: str | os.PathLike):
        self.folder = pathlib.Path(folder)
        self.runs = self.folder / "runs"
        self.models = self.folder / "models"
        self.checkpoints = self.folder / "checkpoints"

    def open(self, settings: Settings) -> None:
        """Makes the folder, or finds the same sweep in it."""
        wanted = settings.as_json()
        if (self.folder / "sweep.json").exists():
            found = _read(self.folder / "sweep.json", dict)
            old = found.get("settings")
            if old != wanted:
                raise ValueError(
                    f"{self.folder} holds a sweep with other settings ({_difference(old, wanted)}). "
                    "Nothing was changed. Choose another folder with --out, or the same settings."
                )
        elif self.folder.exists() and not self.folder.is_dir():
            raise ValueError(f"{self.folder} is a file. Choose a folder with --out.")
        elif self.folder.exists() and any(self.folder.iterdir()):
            raise ValueError(
                f"{self.folder} is not empty and holds no sweep. Nothing was changed. Choose a new "
                "folder with --out."
            )
        try:
            for folder in (self.runs, self.models, self.checkpoints):
                folder.mkdir(parents=True, exist_ok=True)
            if not (self.folder / "sweep.json").exists():
                write_json(
                    self.folder / "sweep.json", {"settings": wanted, "versions": _versions()}
                )
        except OSError as error:
            raise ValueError(
                f"{self.folder} cannot be written to ({error.strerror}). Choose another folder with "
                "--out."
            ) from error

    def finished(self, groups: Sequence[Group]) -> dict[str, list[dict[str, Any]]]:
        """The runs of all groups that have ended, well or by divergence. Those that failed for
        another reason, such as lack of memory, are tried again."""
        done = {}
        for group in groups:
            path = self.runs / f"{group.name}.json"
            if path.exists():
                runs = _read(path, list)
                if all(run["status"] != "failed" for run in runs):
                    done[group.name] = runs
        return done

    def write_group(self, group: Group, runs: list[dict[str, Any]]) -> None:
        """Stores the runs of a group, and drops its checkpoint, which is of no more use."""
        write_json(self.runs / f"{group.name}.json", runs)
        if all(run["status"] != "failed" for run in runs):
            self.checkpoint(group).unlink(missing_ok=True)

    def checkpoint(self, group: Group) -> pathlib.Path:
        """The place of a group's checkpoint."""
        return self.checkpoints / f"{group.name}.safetensors"

    def collect(self, groups: Sequence[Group]) -> list[dict[str, Any]]:
        """Writes `results.json` from the files of all groups, in the order of the plan."""
        runs: list[dict[str, Any]] = []
        for group in groups:
            path = self.runs / f"{group.name}.json"
            if path.exists():
                runs.extend(_read(path, list))
        write_json(self.folder / "results.json", runs)
        return runs

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Only one sweep works in a folder at a time."""
        try:
            import fcntl
        except ImportError:  # not on this system; there only care helps
            yield
            return
        with open(self.folder / ".lock", "w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise ValueError(
                    f"Another process is working in {self.folder}. Wait for it, or choose another "
                    "folder with --out."
                ) from None
            yield


def entry(settings: Settings, configuration: Configuration, seed: int) -> dict[str, Any]:
    """The head of a run's results, with `None` for what is not measured yet."""
    return {
        "experiment": settings.experiment,
        "preset": settings.preset,
        "recipe": settings.recipe,
        "formulation": configuration.formulation,
        "inflation": configuration.inflation,
        "particles": configuration.particles,
        **configuration.more,
        "seed": seed,
        "parameters": None,
        "test_mse": None,
        "penalty": None,
        "complexity_log2_frobenius": None,
        "complexity_log2_nuclear": None,
        "complexity_log2_spectral": None,
        "hamiltonian_drift": None,
        "seconds": None,
        "status": "failed",
        "reason": None,
    }


def read_results(
    folder: str | os.PathLike,
) -> tuple[Settings, list[dict[str, Any]]]:
    """The settings and runs of a sweep, checked."""
    folder = pathlib.Path(folder)
    if not (folder / "results.json").exists() or not (folder / "sweep.json").exists():
        raise FileFormatError(
            f"{folder} has no results. Give a folder that `shootax reproduce --out` has written."
        )
    found = _read(folder / "sweep.json", dict)
    runs = _read(folder / "results.json", list)
    try:
        settings = Settings.from_json(found["settings"])
    except (KeyError, TypeError) as error:
        raise FileFormatError(f"{folder / 'sweep.json'} is damaged: {error}.") from error
    if not all(isinstance(run, dict) and "formulation" in run for run in runs):
        raise FileFormatError(f"{folder / 'results.json'} is not a list of runs.")
    return settings, runs


def _read(path: pathlib.Path, kind: type) -> Any:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise FileFormatError(
            f"{path} is damaged ({error}). Nothing was changed. Restore it, or remove it to make it "
            "again."
        ) from error
    if not isinstance(value, kind):
        raise FileFormatError(f"{path} is damaged: expected a {kind.__name__}.")
    return value


def _difference(old: Any, new: dict[str, Any]) -> str:
    if not isinstance(old, dict):
        return "they cannot be read"
    old, new = ({**each, **each.get("options", {})} for each in (old, new))
    names = [name for name in {**old, **new} if name != "options"]
    changed = [name for name in names if old.get(name) != new.get(name)]
    return "; ".join(
        f"{name}: there {old.get(name)!r}, here {new.get(name)!r}" for name in changed[:3]
    )


def _versions() -> dict[str, str]:
    import shootax

    found = {"python": platform.python_version(), "machine": platform.platform()}
    for name in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return {**found, "shootax": shootax.__version__}
