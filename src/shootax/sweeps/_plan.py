"""The plan of a sweep: a function, and the groups of runs that it is called for."""

import dataclasses
import hashlib
import itertools
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from shootax import _checks as checks
from shootax.sweeps._reference import reference, short

Config = dict[str, Any]
RESERVED = ("seed", "seconds", "processor_seconds", "status", "reason")
"""Columns that every run has in the table of results."""


@dataclasses.dataclass(frozen=True)
class Group:
    """The runs of one call: one configuration with one seed, or several.

    **Arguments:** the `name` for files, the `title` for display, the configuration `config` and the
    `seeds`.
    """

    name: str
    title: str
    config: Config
    seeds: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Sweep:
    """All runs of a sweep.

    **Arguments:**

    - `function`: a reference `module:name`, which workers import.
    - `settings`: JSON-serialisable values that identify the sweep. A folder that holds a sweep with
        other settings is refused.
    - `groups`: the calls, in the order in which they run.
    - `title`: the title for the display.
    - `together`: whether the function takes all seeds of a group and returns a list of results,
        instead of taking one seed and returning one result.
    - `shared`: JSON-serialisable values that all calls receive as `ctx.shared`.
    """

    function: str
    settings: Config
    groups: tuple[Group, ...]
    title: str
    together: bool = False
    shared: Config = dataclasses.field(default_factory=dict)

    def __post_init__(self):
        if not self.groups:
            raise ValueError("The sweep is empty: the settings leave no configuration to run.")
        names = [group.name for group in self.groups]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"Configurations must be distinct, got {twice[0]!r} twice.")


def grid_sweep(
    function: Callable[..., Any] | str,
    grid: Mapping[str, Iterable[Any]] | Sequence[Mapping[str, Any]],
    *,
    seeds: int | Iterable[int] = 1,
    together: int | None = None,
    shared: Mapping[str, Any] | None = None,
) -> Sweep:
    """The sweep over all combinations of a grid, or over a list of configurations.

    **Arguments:** as in [`shootax.sweeps.run_sweep`][].
    """
    configs = _configs(grid)
    chosen = chosen_seeds(seeds)
    size = 1 if together is None else checks.positive_integer(together, "together")
    parts = split_seeds(chosen, size)
    name = reference(function)
    settings = {
        "function": short(name),
        "configurations": configs,
        "seeds": list(chosen),
        "together": together,
        "shared": dict(shared or {}),
    }
    try:
        # A round trip through JSON, so that the settings equal those read back from disk.
        settings = json.loads(json.dumps(settings, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"The values of a sweep must be JSON-serialisable (finite numbers, strings, lists): {error}."
        ) from error
    groups = [
        Group(_name(config, part), title(config), config, part)
        for config in settings["configurations"]
        for part in parts
    ]
    return Sweep(
        name,
        settings,
        tuple(groups),
        name.rpartition(":")[2],
        together is not None,
        settings["shared"],
    )


def split_seeds(seeds: Sequence[int], size: int) -> list[tuple[int, ...]]:
    """Split seeds into groups.

    **Arguments:** the `seeds`, and the maximal `size` of a group.

    !!! example

        ```python
        from shootax.sweeps import split_seeds

        print(split_seeds(range(5), 2))  # [(0, 1), (2, 3), (4,)]
        ```
    """
    return [tuple(seeds[i : i + size]) for i in range(0, len(seeds), size)]


def seeds_name(seeds: Sequence[int]) -> str:
    """The suffix of a group's name, such as `s0` or `s0-9`.

    **Arguments:** the `seeds` of the group.

    !!! example

        ```python
        from shootax.sweeps import seeds_name

        print(seeds_name((0, 1, 2)))  # s0-2
        ```
    """
    return f"s{seeds[0]}-{seeds[-1]}" if len(seeds) > 1 else f"s{seeds[0]}"


def _configs(grid: Any) -> list[Config]:
    if isinstance(grid, Mapping):
        for name, values in grid.items():
            if isinstance(values, str | Mapping) or not isinstance(values, Iterable):
                raise ValueError(
                    f"grid[{name!r}] must be a list of values to try, got {values!r}. Write "
                    f"[{values!r}] for a single value."
                )
        columns = {name: list(values) for name, values in grid.items()}
        combined = itertools.product(*columns.values())
        configs = [dict(zip(columns, values, strict=True)) for values in combined]
    else:
        grid = checks.sequence(grid, "grid", 'grid={"inflation": [4, 8]} or a list of dictionaries')
        for config in grid:
            if not isinstance(config, Mapping):
                raise TypeError(f"Each configuration must be a dictionary, got {config!r}.")
        configs = [dict(config) for config in grid]
    for config in configs:
        taken = [name for name in config if name in RESERVED]
        if taken:
            raise ValueError(
                f"{taken[0]!r} is a column of every sweep and cannot be a name in the grid. Choose "
                "another name."
            )
    return configs


def chosen_seeds(seeds: int | Iterable[int]) -> tuple[int, ...]:
    """The seeds `0, ..., seeds - 1`, or the given seeds."""
    if isinstance(seeds, int):
        return tuple(range(checks.positive_integer(seeds, "seeds")))
    chosen = tuple(checks.seed(seed) for seed in checks.sequence(seeds, "seeds", "seeds=(0, 1)"))
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"seeds must be distinct whole numbers, at least one; got {chosen}.")
    return chosen


def _name(config: Config, seeds: tuple[int, ...]) -> str:
    """A name that is readable if the values are short, and always unique to the values."""
    plain = "-".join(f"{key}-{value}" for key, value in config.items()) or "run"
    safe = re.sub(r"[^A-Za-z0-9._-]", "_", plain)[:80]
    if safe != plain or safe != safe.lower():  # some file systems ignore case
        digest = hashlib.sha256(json.dumps(config, sort_keys=True).encode()).hexdigest()
        safe = f"{safe}-{digest[:8]}"
    return f"{safe}-{seeds_name(seeds)}"


def title(config: Config) -> str:
    """A readable form of a configuration."""
    return ", ".join(f"{key}={value}" for key, value in config.items()) or "run"
