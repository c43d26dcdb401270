"""Which values to try next: Optuna's samplers, used without its storage."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from shootax.sweeps._space import Integer, Real

METHODS = ("tpe", "random")


def suggest(
    space: Mapping[str, Real | Integer | list[Any]],
    known: Sequence[Mapping[str, Any]],
    count: int,
    *,
    method: str,
    seed: tuple[int, int],
    minimise: bool,
) -> list[dict[str, Any]]:
    """Suggest `count` configurations from the known trials. The result depends on the arguments alone.

    A known trial has `config`, `status` and `value`. A diverged trial counts as worse than all others;
    a failed trial is ignored.
    """
    optuna = imported()
    number = int(np.random.SeedSequence(seed).generate_state(1)[0])
    kinds = {"tpe": optuna.samplers.TPESampler, "random": optuna.samplers.RandomSampler}
    spread = {name: _distribution(optuna, values) for name, values in space.items()}
    states = optuna.trial.TrialState
    with _quiet(optuna):
        study = optuna.create_study(
            sampler=kinds[method](seed=number), direction="minimize" if minimise else "maximize"
        )
        for trial in known:
            if trial["status"] == "failed":
                continue
            good = trial["status"] == "ok"
            study.add_trial(
                optuna.trial.create_trial(
                    params=_coded(space, trial["config"]),
                    distributions=spread,
                    state=states.COMPLETE if good else states.PRUNED,
                    value=trial["value"] if good else None,
                )
            )
        asked = [study.ask(spread).params for _ in range(count)]
    return [_plain(space, params) for params in asked]


def imported() -> Any:
    """Import Optuna, or raise with instructions for installing it."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError("search needs Optuna: pip install 'shootax[search]'.") from error
    return optuna


def _distribution(optuna: Any, values: Real | Integer | list[Any]) -> Any:
    kinds = optuna.distributions
    if isinstance(values, Real):
        return kinds.FloatDistribution(values.low, values.high, log=values.log)
    if isinstance(values, Integer):
        return kinds.IntDistribution(int(values.low), int(values.high), log=values.log)
    # By index, so that a choice can be any JSON value.
    return kinds.CategoricalDistribution(tuple(range(len(values))))


def _coded(space: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: values.index(config[name]) if isinstance(values, list) else config[name]
        for name, values in space.items()
    }


def _plain(space: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: values[params[name]] if isinstance(values, list) else params[name]
        for name, values in space.items()
    }


@contextlib.contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Silence Optuna's line for every study, and restore the log level afterwards."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
