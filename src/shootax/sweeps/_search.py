"""Hyperparameter search over your own function, in the folder and on the engines of a sweep."""

import dataclasses
import json
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from shootax import FileFormatError
from shootax import _checks as checks
from shootax._files import write_json
from shootax.sweeps._engine import Engine
from shootax.sweeps._plan import Group, Sweep, chosen_seeds, seeds_name, split_seeds, title
from shootax.sweeps._reference import reference, short
from shootax.sweeps._run import as_engine, run_rest
from shootax.sweeps._space import Space, as_json, checked_space
from shootax.sweeps._store import Run, Store
from shootax.sweeps._suggest import METHODS, imported, suggest

Trial = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """The result of [`shootax.sweeps.search`][].

    **Arguments:**

    - `trials`: one dictionary per trial, in the order in which they were suggested: `trial` (its
        number), the values of the space, `value` (the mean of the metric over the seeds, or `None`),
        `status` and `reason`. [`shootax.sweeps.to_pandas`][] makes it a table.
    - `best`: the trial with the best value, or `None` if no trial has a value.
    - `runs`: all runs, one dictionary per trial and seed, as returned by a sweep.
    """

    trials: list[Trial]
    best: Trial | None
    runs: list[Run]


def search(
    function: Callable[..., Any] | str,
    space: Space,
    out: str | os.PathLike,
    *,
    metric: str,
    trials: int = 50,
    at_once: int = 4,
    seed: int = 0,
    direction: Literal["min", "max"] = "min",
    method: Literal["tpe", "random"] = "tpe",
    seeds: int | Iterable[int] = 1,
    together: int | None = None,
    shared: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    engine: Engine = "local",
    checkpoint_seconds: float = 30.0,
    console: Any = None,
) -> SearchResult:
    """Search a space for the values with which a function returns the best metric.

    Requires the extra `search` (Optuna): `pip install 'shootax[search]'`.

    Trials are suggested in rounds of `at_once`, each based on the results of all earlier rounds.
    Therefore a search with the same `seed` tries the same values on every engine and with any number
    of processes. To resume an interrupted search, call `search` again with the same arguments. To
    extend a search, increase `trials`.

    **Arguments:**

    - `function`: `function(config, seed, ctx)`, which returns a dictionary of results, as in
        [`shootax.sweeps.run_sweep`][].
    - `space`: a dictionary from names to [`shootax.sweeps.Real`][], [`shootax.sweeps.Integer`][], or a
        list of choices.
    - `out`: the folder, as for a sweep. Its `trials.json` has the suggested values.
    - `metric`: the name of the result to optimise.
    - `trials`: the number of configurations to try.
    - `at_once`: the number of trials in a round, which can run in parallel. More trials use more
        machines; with fewer trials, more rounds learn from earlier results.
    - `seed`: the seed of the suggestions.
    - `direction`: `"min"` or `"max"`.
    - `method`: `"tpe"` for the tree-structured Parzen estimator, or `"random"`.
    - `seeds`: the seeds of the function for each trial. The value of a trial is the mean of the metric
        over them.
    - `together`, `shared`, `jobs`, `engine`, `checkpoint_seconds`, `console`: as in
        [`shootax.sweeps.run_sweep`][].

    !!! example

        ```python
        import pathlib
        from shootax.sweeps import Integer, Real, search

        # Usually a function of your own script or module.
        study = pathlib.Path("study.py")
        study.write_text("def run(config, seed, ctx): return {'error': (config['x'] - 0.3) ** 2}")
        space = {"x": Real(0, 1), "n": Integer(1, 5), "activation": ["relu", "tanh"]}
        found = search(f"{study.resolve()}:run", space, "search", metric="error", trials=6)
        print(found.best["x"], len(found.trials))
        ```
    """
    trials = checks.positive_integer(trials, "trials")
    width = checks.positive_integer(at_once, "at_once")
    minimise = checks.one_of(direction, ("min", "max"), "direction") == "min"
    checks.one_of(method, METHODS, "method")
    imported()
    space = checked_space(space)
    name, given = reference(function), chosen_seeds(seeds)
    settings = {
        "function": short(name),
        "space": as_json(space),
        "metric": metric,
        "direction": direction,
        "method": method,
        "seed": checks.seed(seed),
        "at_once": width,
        "seeds": list(given),
        "together": together,
        "shared": dict(shared or {}),
    }
    settings = json.loads(json.dumps(settings, allow_nan=False))
    parts = split_seeds(given, together or 1)
    store = Store(out)
    chosen = as_engine(engine, jobs)
    store.open(settings)
    with store.lock(), chosen.started() as pool:
        path = store.folder / "trials.json"
        configs = _read_configs(path, space)
        results: list[Trial] = []
        runs: list[Run] = []
        for start in range(0, trials, width):
            end = min(start + width, trials)
            if len(configs) < end:
                asked = suggest(
                    space,
                    results,
                    width,
                    method=method,
                    seed=(seed, start // width),
                    minimise=minimise,
                )
                configs = [*configs, *asked[len(configs) - start : end - start]]
                write_json(path, configs)
            groups = [
                Group(f"trial-{number:04d}-{seeds_name(part)}", title(config), config, part)
                for number, config in enumerate(configs[:end])
                for part in parts
            ]
            heading = f"trials {start}–{end - 1} of {trials}"
            sweep = Sweep(
                name, settings, tuple(groups), heading, together is not None, settings["shared"]
            )
            if len(store.finished(groups)) == len(groups):  # from an earlier call
                runs = store.collect(groups)
            else:
                runs = run_rest(sweep, store, pool, checkpoint_seconds, console)
            results = _trials(configs[:end], runs, len(given), metric)
            _stop_if_hopeless(results)
    good = [trial for trial in results if trial["status"] == "ok"]
    best = (min if minimise else max)(good, key=lambda trial: trial["value"], default=None)
    tables = [_flat(trial) for trial in results]
    return SearchResult(tables, None if best is None else _flat(best), runs)


def _trials(
    configs: Sequence[Mapping[str, Any]], runs: Sequence[Run], seeds: int, metric: str
) -> list[Trial]:
    """Summarise each trial from its runs, in the order of the trials."""
    found = []
    for number, config in enumerate(configs):
        mine = runs[number * seeds : (number + 1) * seeds]
        bad = next((run for run in mine if run["status"] != "ok"), None)
        values = [_value(run, metric) for run in mine if run["status"] == "ok"]
        status, reason = ("ok", None) if bad is None else (bad["status"], bad["reason"])
        if bad is None and any(value is None for value in values):
            status, reason = "diverged", f"{metric} is not a finite number."
        value = sum(v for v in values if v is not None) / seeds if status == "ok" else None
        found.append(
            {"trial": number, "config": config, "value": value, "status": status, "reason": reason}
        )
    return found


def _value(run: Run, metric: str) -> float | None:
    if metric not in run:
        raise ValueError(
            f"The function returned no {metric!r}, the metric of the search; it returned "
            f"{', '.join(sorted(run))}."
        )
    value = run[metric]
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"The metric {metric!r} must be a number, got {value!r:.100}.")
    return value


def _stop_if_hopeless(results: Sequence[Trial]) -> None:
    """Raise if all trials so far have failed: the remaining ones would fail, too."""
    if all(trial["status"] == "failed" for trial in results):
        raise RuntimeError(
            f"All {len(results)} trials so far have failed; the first reason is: "
            f"{results[0]['reason']} Call search again to repeat them."
        )


def _flat(trial: Trial) -> Trial:
    rest = {key: trial[key] for key in ("value", "status", "reason")}
    return {"trial": trial["trial"], **trial["config"], **rest}


def _read_configs(path: pathlib.Path, space: Mapping[str, Any]) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    try:
        configs = json.loads(path.read_text(encoding="utf-8"))
        if not all(list(config) == list(space) for config in configs):
            raise ValueError("other names than the space has")
        return list(configs)
    except (ValueError, TypeError) as error:
        raise FileFormatError(
            f"{path} is damaged ({error}). Nothing was changed. Restore it, or choose another folder."
        ) from error
