"""The values that a search tries."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

from shootax.sweeps._plan import RESERVED


@dataclasses.dataclass(frozen=True)
class Real:
    """Real numbers between `low` and `high`, for the space of a search.

    **Arguments:** `low`, `high`: the bounds. `log`: whether to sample on a logarithmic scale.

    !!! example

        ```python
        from shootax.sweeps import Real

        learning_rate = Real(1e-4, 1e-1, log=True)
        ```
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self):
        _check(self, "Real(1e-4, 1e-1, log=True)")


@dataclasses.dataclass(frozen=True)
class Integer:
    """Integers from `low` to `high`, both included, for the space of a search.

    **Arguments:** `low`, `high`: the bounds. `log`: whether to sample on a logarithmic scale.

    !!! example

        ```python
        from shootax.sweeps import Integer

        particles = Integer(1, 64, log=True)
        ```
    """

    low: int
    high: int
    log: bool = False

    def __post_init__(self):
        _check(self, "Integer(1, 64, log=True)")
        if int(self.low) != self.low or int(self.high) != self.high:
            raise ValueError(f"The bounds of Integer must be whole numbers, got {self}.")


Space = Mapping[str, Real | Integer | Sequence[Any]]


def checked_space(space: Any) -> dict[str, Real | Integer | list[Any]]:
    """The space, validated, with choices as lists."""
    if not isinstance(space, Mapping) or not space:
        raise ValueError(
            "space must be a dictionary such as {'learning_rate': Real(1e-4, 1e-1, log=True), "
            f"'inflation': [4, 8]}}; got {space!r:.100}."
        )
    out: dict[str, Real | Integer | list[Any]] = {}
    for name, values in space.items():
        if name in RESERVED or not isinstance(name, str):
            raise ValueError(f"{name!r} cannot be a name in the space. Choose another name.")
        if isinstance(values, Real | Integer):
            out[name] = values
        elif isinstance(values, list | tuple) and values:
            out[name] = list(values)
        else:
            raise ValueError(
                f"space[{name!r}] must be Real(low, high), Integer(low, high) or a list of choices, got "
                f"{values!r}."
            )
    return out


def as_json(space: Mapping[str, Real | Integer | list[Any]]) -> dict[str, Any]:
    """The space in JSON-serialisable form, for the settings of a search."""
    return {
        name: values
        if isinstance(values, list)
        else {type(values).__name__: list(dataclasses.astuple(values))}
        for name, values in space.items()
    }


def _check(values: Real | Integer, example: str) -> None:
    ends = (values.low, values.high)
    name = type(values).__name__
    if not all(isinstance(end, int | float) and math.isfinite(end) for end in ends):
        raise ValueError(
            f"The bounds of {name} must be finite numbers, got {ends}; write {example}."
        )
    if not values.low < values.high:
        raise ValueError(f"{name} needs low < high, got {ends}.")
    if values.log and values.low <= 0:
        raise ValueError(f"{name} with log=True needs bounds above 0, got {ends}.")
