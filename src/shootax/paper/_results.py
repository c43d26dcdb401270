"""The results of a sweep, for figures and tables."""

import dataclasses
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shootax import FileFormatError, Net, load
from shootax.paper._plan import Settings
from shootax.sweeps import read_results, read_settings

Run = dict[str, Any]
Drawn = Iterator[tuple[str, Callable[[], Any]]]
"""Names of figures, each with a function that draws it."""


@dataclasses.dataclass(frozen=True)
class Results:
    """The runs of a sweep, and their models if the folder contains them; see `Results.read`.

    **Arguments:**

    - `folder`: the folder of the sweep.
    - `settings`: its settings.
    - `runs`: the runs, a dictionary for each.
    """

    folder: pathlib.Path
    settings: Settings
    runs: list[Run]

    @classmethod
    def read(cls, folder: str | os.PathLike) -> "Results":
        """Read and check the results in a folder."""
        runs = read_results(folder)
        folder = pathlib.Path(folder)
        try:
            settings = Settings.from_json(read_settings(folder))
        except TypeError as error:
            raise FileFormatError(
                f"{folder / 'sweep.json'} is damaged, or not from an experiment of the paper: {error}."
            ) from error
        if not all("formulation" in run for run in runs):
            raise FileFormatError(f"{folder / 'results.json'} is not a list of runs.")
        return cls(folder, settings, runs)

    def where(self, **wanted: Any) -> list[Run]:
        """The successful runs with these entries."""
        good = [run for run in self.runs if run["status"] == "ok"]
        return [run for run in good if all(run.get(k) == v for k, v in wanted.items())]

    def values(self, entry: str, **wanted: Any) -> np.ndarray:
        """The values of an entry in the successful runs with the `wanted` entries."""
        found = [run.get(entry) for run in self.where(**wanted)]
        return np.array([value for value in found if value is not None], float)

    def typical(self, entry: str, **wanted: Any) -> Run | None:
        """The median run by an entry, the lower one if there are two."""
        runs = [run for run in self.where(**wanted) if run.get(entry) is not None]
        if not runs:
            return None
        return sorted(runs, key=lambda run: (run[entry], run["seed"]))[(len(runs) - 1) // 2]

    def typical_of_each(
        self, entry: str, formulations: Sequence[str], inflation: int
    ) -> dict[str, Run]:
        """The median run of each formulation, if it has one."""
        found = {
            name: self.typical(
                entry, formulation=name, inflation=inflation, particles=self.particles_of(name)
            )
            for name in formulations
        }
        return {name: run for name, run in found.items() if run is not None}

    def nets(self, runs: Mapping[Any, Run]) -> dict[Any, Net]:
        """Load the models of runs."""
        missing = [
            run["model"] for run in runs.values() if not model_path(self.folder, run).exists()
        ]
        if missing:
            raise FileNotFoundError(f"the models {', '.join(missing)} are not in {self.folder}.")
        return {key: load(model_path(self.folder, run)) for key, run in runs.items()}

    def title(self) -> str:
        """A title that states the size of the sweep."""
        settings = self.settings
        return (
            f"{len(settings.seeds)} seeds, {self.main_particles()} particles, "
            f"{settings.epochs} epochs, recipe “{settings.recipe}”"
        )

    def inflations(self) -> list[int]:
        """The inflation factors of the successful runs."""
        return sorted({run["inflation"] for run in self.where()})

    def main_particles(self) -> int:
        """The number of particles at which the formulations are compared."""
        return self.settings.particles[0]

    def particles_of(self, formulation: str) -> int | None:
        """The main number of particles, or `None` for a formulation without particles."""
        return self.main_particles() if formulation.endswith("-particles") else None


def quartiles(values: np.ndarray) -> tuple[float, float, float]:
    """Lower quartile, median, upper quartile."""
    low, middle, high = np.quantile(values, [0.25, 0.5, 0.75])
    return float(low), float(middle), float(high)


def without_outliers(values: np.ndarray) -> tuple[np.ndarray, int]:
    """The values within 1.5 interquartile ranges of the box, and the number of values outside."""
    if len(values) == 0:
        return values, 0
    low, _, high = quartiles(values)
    reach = 1.5 * (high - low)
    kept = values[(values >= low - reach) & (values <= high + reach)]
    return kept, len(values) - len(kept)


def model_path(folder: pathlib.Path, run: Mapping[str, Any]) -> pathlib.Path:
    """The model file of a run, always in the folder `models`, whatever path the results contain."""
    return folder / "models" / pathlib.Path(run["model"]).name
