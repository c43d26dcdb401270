"""Evaluate the models of a sweep again, and compare the numbers with those in its results."""

import dataclasses
import os
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from shootax import FileFormatError, load
from shootax.paper._catalogue import EXPERIMENTS
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings
from shootax.paper._results import Results, Run, model_path

RELATIVE = 2e-3
"""The largest relative difference that rounding may make, on another machine for instance."""

LOGARITHMS = 0.01
"""The largest absolute difference of a logarithm, which may be near zero."""

_ROUNDING = ("hamiltonian_drift",)
"""Measures of rounding errors, which differ from machine to machine."""


@dataclasses.dataclass(frozen=True)
class Verification:
    """The numbers of a stored model, as recorded and as evaluated again.

    **Arguments:**

    - `run`: the run in the results.
    - `recorded`, `evaluated`: the numbers by name, in the results and now.
    - `differing`: the names of the numbers that differ by more than rounding.
    """

    run: Run
    recorded: dict[str, Any]
    evaluated: dict[str, Any]
    differing: tuple[str, ...]


def verify(folder: str | os.PathLike) -> Iterator[Verification]:
    """Evaluate each model in a results folder again, on the data of its experiment.

    Runs whose model is not in the folder are left out, as are measures of rounding errors.

    **Arguments:** `folder`: a folder that `shootax reproduce` has written.

    **Returns:** an iterator, which evaluates one model at a time.

    !!! example

        ```python
        from shootax.paper import verify

        for each in verify("docs/results/rotating-swift"):
            print(each.run["model"], each.differing or "as recorded")
        ```
    """
    results = Results.read(folder)
    if results.settings.experiment not in EXPERIMENTS:
        raise FileFormatError(
            f"{results.folder / 'sweep.json'} names the experiment {results.settings.experiment!r}, "
            f"which is none of {', '.join(EXPERIMENTS)}."
        )
    experiment = EXPERIMENTS[results.settings.experiment]
    stored = [run for run in results.where() if _has_model(results, run)]
    if not stored:
        raise FileNotFoundError(
            f"There is no model to verify in {results.folder / 'models'}. "
            "`shootax reproduce` writes models there; `shootax plot --compact` keeps some of them."
        )
    experiment.prepare(results.settings)
    return (_verified(experiment, results, run) for run in stored)


def _has_model(results: Results, run: Run) -> bool:
    return run.get("model") is not None and model_path(results.folder, run).exists()


def _verified(experiment: AbstractExperiment, results: Results, run: Run) -> Verification:
    net = load(model_path(results.folder, run))
    configuration = _configuration(experiment, results.settings, run)
    found = experiment.evaluate_seed(results.settings, configuration, net, run["seed"])
    names = [name for name in found if run.get(name) is not None and name not in _ROUNDING]
    recorded, evaluated = ({name: each[name] for name in names} for each in (run, found))
    differing = tuple(name for name in names if not _agree(name, recorded[name], evaluated[name]))
    return Verification(run, recorded, evaluated, differing)


def _configuration(experiment: AbstractExperiment, settings: Settings, run: Run) -> Configuration:
    """The configuration of the sweep to which a run belongs."""

    def belongs(columns: Mapping[str, Any]) -> bool:
        return all(run.get(name) == value for name, value in columns.items())

    for configuration in experiment.configurations(settings):
        if belongs(configuration.as_columns(settings)):
            return configuration
    raise FileFormatError(
        f"results.json is damaged: its run with the model {run['model']} is none of the sweep's."
    )


def _agree(name: str, recorded: Any, evaluated: Any) -> bool:
    a, b = np.asarray(recorded, float), np.asarray(evaluated, float)
    if a.shape != b.shape:
        return False
    tolerances = (0.0, LOGARITHMS) if "_log2_" in name else (RELATIVE, 0.0)
    return bool(np.allclose(b, a, *tolerances))
