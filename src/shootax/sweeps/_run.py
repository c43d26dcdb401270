"""Run a sweep from the start, or resume it."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shootax import _checks as checks
from shootax.sweeps._display import Display, display
from shootax.sweeps._engine import AbstractEngine, AbstractPool, Engine
from shootax.sweeps._plan import Group, Sweep, grid_sweep
from shootax.sweeps._pool import LocalEngine
from shootax.sweeps._ray import RayEngine
from shootax.sweeps._store import Run, Store, failed

ENGINES = ("local", "ray")


def run_sweep(
    function: Callable[..., Any] | str,
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    out: str | os.PathLike,
    *,
    seeds: int | Iterable[int] = 1,
    together: int | None = None,
    shared: Mapping[str, Any] | None = None,
    jobs: int | None = None,
    engine: Engine = "local",
    checkpoint_seconds: float = 30.0,
    console: Any = None,
) -> list[Run]:
    """Call a function for every configuration of a grid and every seed, and return all results.

    Each result is stored in the folder `out` as soon as it is available. After an interruption of any
    kind, call `run_sweep` again with the same arguments. It runs what is missing or has failed.

    **Arguments:**

    - `function`: `function(config, seed, ctx)`, which returns a JSON-serialisable dictionary of
        results. It must be importable: define it at the top level of a module or script, or pass
        `"module:name"`. See [`shootax.sweeps.Context`][] for `ctx`. A run that raises
        [`shootax.DivergedError`][] counts as finished. Any other exception makes it a failed run,
        which the next call repeats.
    - `grid`: values to combine, such as `{"inflation": [4, 8], "learning_rate": [0.01, 0.1]}`, or a
        list of configurations.
    - `out`: the folder of the sweep. A folder that holds a sweep with other settings is refused.
    - `seeds`: the number of seeds, or a sequence of seeds.
    - `together`: if given, the function is called as `function(config, seeds, ctx)` with up to
        `together` seeds at once, and returns a list of results; see [`shootax.fit_many`][].
    - `shared`: values for all runs, available as `ctx.shared`.
    - `jobs`: the number of processes of the local engine, 1 by default.
    - `engine`: where the groups run: `"local"` for processes on this machine, `"ray"` for a Ray
        cluster, or a [`shootax.sweeps.LocalEngine`][] or [`shootax.sweeps.RayEngine`][] with settings.
        The folder and the results are the same.
    - `checkpoint_seconds`: the interval between checkpoints, available as `ctx.checkpoint_seconds`.
    - `console`: a `rich.console.Console` for progress; standard error by default.

    **Returns:** a list of dictionaries, one for each run, with the configuration, `seed`, `seconds`,
    `status` (`"ok"`, `"diverged"` or `"failed"`), `reason`, and what the function returned. NaN and
    infinity become `None`. The same list is in `results.json`.

    !!! example

        ```python
        import pathlib
        from shootax.sweeps import run_sweep

        # Usually a function of your own script or module.
        study = pathlib.Path("study.py")
        study.write_text("def run(config, seed, ctx): return {'score': config['size'] + seed}")
        runs = run_sweep(f"{study.resolve()}:run", {"size": [1, 2]}, "results", seeds=2)
        print([run["score"] for run in runs])  # [1, 2, 2, 3]
        ```
    """
    sweep = grid_sweep(function, grid, seeds=seeds, together=together, shared=shared)
    return resume(
        sweep,
        out,
        jobs=jobs,
        engine=engine,
        checkpoint_seconds=checkpoint_seconds,
        console=console,
    )


def resume(
    sweep: Sweep,
    out: str | os.PathLike,
    *,
    jobs: int | None = None,
    engine: Engine = "local",
    checkpoint_seconds: float = 30.0,
    console: Any = None,
) -> list[Run]:
    """Run all unfinished groups of a sweep in the folder `out`, and return the results of all runs.

    **Arguments:** `sweep`: the sweep. The others are as in [`shootax.sweeps.run_sweep`][].
    """
    chosen, store = as_engine(engine, jobs), Store(out)
    store.open(sweep.settings)
    with store.lock(), chosen.started() as pool:
        return run_rest(sweep, store, pool, checkpoint_seconds, console)


def as_engine(engine: Engine | str, jobs: int | None) -> AbstractEngine:
    """The engine for the arguments `engine` and `jobs`."""
    if isinstance(engine, str):
        if checks.one_of(engine, ENGINES, "engine") == "local":
            return LocalEngine(1 if jobs is None else jobs)
        engine = RayEngine()
    elif not isinstance(engine, AbstractEngine):
        raise ValueError(
            f"engine must be 'local', 'ray', a LocalEngine or a RayEngine; got {engine!r:.100}."
        )
    if jobs is not None:
        raise ValueError(
            f"jobs={jobs} is the number of processes of engine='local'. A LocalEngine has its own, "
            "and a RayEngine runs as many groups at once as the cluster has room for. Leave jobs out."
        )
    return engine


def run_rest(
    sweep: Sweep, store: Store, pool: AbstractPool, checkpoint_seconds: float, console: Any
) -> list[Run]:
    """Run all unfinished groups in a store that is open and locked, and return all results."""
    groups = sweep.groups
    done = store.finished(groups)
    left = [group for group in groups if group.name not in done]
    runs = sum(len(group.seeds) for group in left)
    with display(sweep.title, runs, console) as shown:
        for path in store.damaged(groups):
            shown.say(f"{path} is damaged; its runs are repeated.")
        if done:
            finished = sum(len(each) for each in done.values())
            shown.say(f"{finished} runs are finished, {runs} remain.")
        try:
            _run_all(sweep, left, store, shown, pool, checkpoint_seconds)
            return store.collect(groups)
        except OSError as error:
            if store.exists():
                raise
            raise _removed(store) from error


def _run_all(
    sweep: Sweep,
    left: Sequence[Group],
    store: Store,
    shown: Display,
    pool: AbstractPool,
    checkpoint_seconds: float,
) -> None:
    if not left:
        return
    for kind, group, value in pool.run(sweep, left, store, checkpoint_seconds):
        if kind == "begin":
            shown.begin(group)
        elif kind == "progress":
            shown.progress(group, value)
        elif kind == "gone" or not store.exists():
            raise _removed(store)
        else:
            runs = value
            if kind == "died":
                runs = failed(group, value)
                store.write_group(group, runs)
            shown.end(group, runs)
            store.collect(sweep.groups)


def _removed(store: Store) -> RuntimeError:
    return RuntimeError(
        f"{store.folder} was removed or renamed while the sweep was running, so its results cannot be "
        "stored. Start the sweep again."
    )
