"""The results of a sweep as the figures want them."""

import dataclasses
import os
import pathlib
from typing import Any

import numpy as np

from shootax.net import Net
from shootax.storage import load
from shootax.sweeps.plan import Settings
from shootax.sweeps.store import read_results

Run = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Results:
    """The runs of a sweep, and their models where the folder has them."""

    folder: pathlib.Path
    settings: Settings
    runs: list[Run]

    @classmethod
    def read(cls, folder: str | os.PathLike) -> "Results":
        settings, runs = read_results(folder)
        return cls(pathlib.Path(folder), settings, runs)

    def where(self, **wanted: Any) -> list[Run]:
        """The runs that ended well and have these entries."""
        good = [run for run in self.runs if run["status"] == "ok"]
        return [run for run in good if all(run.get(k) == v for k, v in wanted.items())]

    def values(self, entry: str, **wanted: Any) -> np.ndarray:
        """The numbers of an entry over such runs."""
        found = [run.get(entry) for run in self.where(**wanted)]
        return np.array([value for value in found if value is not None], float)

    def typical(self, entry: str, **wanted: Any) -> Run | None:
        """The run in the middle of all, ordered by an entry; the lower one of two."""
        runs = [run for run in self.where(**wanted) if run.get(entry) is not None]
        if not runs:
            return None
        return sorted(runs, key=lambda run: (run[entry], run["seed"]))[(len(runs) - 1) // 2]

    def net(self, run: Run) -> Net:
        """The model of a run."""
        return load(self.folder / run["model"])

    def inflations(self) -> list[int]:
        """The inflation factors of runs that ended well."""
        return sorted({run["inflation"] for run in self.where()})

    def main_particles(self) -> int:
        """The number of particles that the formulations are compared with."""
        return self.settings.particles[0]

    def particles_of(self, formulation: str) -> int | None:
        """The same, or `None` for a formulation without particles."""
        return self.main_particles() if formulation.endswith("-particles") else None


def quartiles(values: np.ndarray) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def without_outliers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Values no further than 1.5 interquartile ranges from the box, and how many were further."""
    if len(values) == 0:
        return values, 0
    low, _, high = quartiles(values)
    reach = 1.5 * (high - low)
    kept = values[(values >= low - reach) & (values <= high + reach)]
    return kept, len(values) - len(kept)
