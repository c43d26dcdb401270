"""Run an experiment of the paper as a sweep."""

import math
import os
from collections.abc import Mapping
from typing import Any, Literal

from shootax import DivergedError, save
from shootax.extend import Checkpoint
from shootax.paper._catalogue import EXPERIMENTS
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._plan import Configuration, Settings
from shootax.sweeps import AbstractEngine, Context, Group, Sweep, resume, seeds_name, split_seeds


def planned(experiment: AbstractExperiment, settings: Settings) -> list[Group]:
    """All groups of seeds that train in one program.

    The groups do not depend on which runs are finished, so a group resumes as the same program with the
    same seeds.

    **Arguments:**

    - `experiment`: the experiment.
    - `settings`: its settings.
    """
    groups = []
    for configuration in experiment.configurations(settings):
        size = experiment.group_size(settings, configuration)
        for part in split_seeds(experiment.seeds(settings, configuration), size):
            name = f"{configuration.name}-{seeds_name(part)}"
            columns = configuration.as_columns(settings)
            groups.append(Group(name, configuration.title, columns, part))
    return groups


def reproduce(
    experiment: AbstractExperiment,
    settings: Settings,
    out: str | os.PathLike,
    *,
    jobs: int | None = None,
    engine: AbstractEngine | Literal["local", "ray"] = "local",
    checkpoint_seconds: float = 30.0,
    console: Any = None,
) -> list[dict[str, Any]]:
    """Run all runs of an experiment that are not finished in the folder `out`, and return all results.

    **Arguments:**

    - `experiment`: one of [`shootax.paper.EXPERIMENTS`][].
    - `settings`: the settings, from [`shootax.paper.make_settings`][].
    - `out`, `jobs`, `engine`, `checkpoint_seconds`, `console`: as in [`shootax.sweeps.run_sweep`][].
    """
    experiment.prepare(settings)
    sweep = Sweep(
        "shootax.paper._reproduce:train_group",
        settings.as_json(),
        tuple(planned(experiment, settings)),
        experiment.name,
        together=True,
        shared=settings.as_json(),
    )
    return resume(
        sweep,
        out,
        jobs=jobs,
        engine=engine,
        checkpoint_seconds=checkpoint_seconds,
        console=console,
    )


def train_group(config: dict[str, Any], seeds: list[int], ctx: Context) -> list[dict[str, Any]]:
    """Train and evaluate the seeds of one configuration. This is the function of the sweep."""
    settings = Settings.from_json(ctx.shared)
    experiment = EXPERIMENTS[settings.experiment]
    configuration = Configuration.from_columns(config)
    outcomes = experiment.train(
        settings,
        configuration,
        seeds,
        checkpoint=Checkpoint(ctx.checkpoint, ctx.checkpoint_seconds),
        progress=lambda done, text: ctx.progress(done, settings.epochs, text),
    )
    results = []
    for seed, outcome in zip(seeds, outcomes, strict=True):
        diverged = isinstance(outcome, DivergedError)
        fit = outcome.result if diverged else outcome
        result = {
            **UNMEASURED,
            "seconds": fit.seconds / len(seeds),
            "epochs": len(fit.history["objective"]),
        }
        if diverged:
            result |= {"status": "diverged", "reason": str(outcome)}
        else:
            ctx.progress(text=f"measuring seed {seed}")
            try:
                result |= experiment.evaluate_seed(settings, configuration, fit.net, seed)
                name = f"{configuration.name}-s{seed}.safetensors"
                record = {"seed": seed, "seconds": fit.seconds, "history": _columns(fit.history)}
                save(ctx.out / "models" / name, fit.net, record=record)
                result["model"] = f"models/{name}"
            except (
                Exception
            ) as error:  # the other seeds are kept, and this one is repeated next time
                result |= {"status": "failed", "reason": f"{type(error).__name__}: {error}"}
        results.append(result)
    return results


UNMEASURED = dict.fromkeys(
    (
        "parameters",
        "test_mse",
        "penalty",
        "complexity_log2_frobenius",
        "complexity_log2_nuclear",
        "complexity_log2_spectral",
        "hamiltonian_drift",
    )
)
"""The columns of every run, `None` if there was nothing to measure."""


def _columns(history: Mapping[str, Any]) -> dict[str, list[float | None]]:
    """The history of a training to five digits. Columns without numbers are omitted."""
    columns = {name: [float(value) for value in column] for name, column in history.items()}
    return {
        name: [float(f"{value:.5g}") if math.isfinite(value) else None for value in column]
        for name, column in columns.items()
        if any(math.isfinite(value) for value in column)
    }
