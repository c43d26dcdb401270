"""Checks of what users hand in. Each message says what was got, what was expected, what to do."""

import math
import re
from typing import Any, TypeVar

import jax.core
import numpy as np

T = TypeVar("T")


def is_concrete(x: Any) -> bool:
    """Whether the values of `x` can be looked at now, i.e. it is not being traced."""
    return not isinstance(x, jax.core.Tracer)


def positive_integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def positive_number(value: Any, name: str) -> float:
    """A finite number above zero, as a Python float."""
    number = _as_float(value, f"{name} must be a positive number")
    if not math.isfinite(number) or number <= 0:
        raise ValueError(f"{name} must be a positive, finite number, got {value!r}.")
    return number


def non_negative_number(value: Any, name: str) -> float:
    number = _as_float(value, f"{name} must be a finite number of at least 0")
    if not math.isfinite(number) or number < 0:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value!r}.")
    return number


def number(value: Any, name: str) -> float:
    """Any number, as a Python float."""
    return _as_float(value, f"{name} must be a number")


def _as_float(value: Any, expected: str) -> float:
    try:
        if isinstance(value, str):
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {value!r}.") from None


def finite(values: Any, name: str) -> None:
    """Refuses NaN and infinity, naming the first row that has one. Traced values pass."""
    if not is_concrete(values):
        return
    array = np.asarray(values)
    if not np.issubdtype(array.dtype, np.number):
        raise ValueError(f"{name} must hold numbers, got an array of dtype {array.dtype}.")
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        what = "NaN" if np.isnan(array[where]) else "infinity"
        raise ValueError(
            f"{name} must be finite, got {int(bad.sum())} NaN or infinite entries (the first is "
            f"{what} at index {where}). Remove or impute those rows."
        )


def one_of(value: str, allowed: Any, name: str) -> str:
    if value not in allowed:
        raise ValueError(f"Unknown {name} {value!r}. Choose one of: {', '.join(sorted(allowed))}.")
    return value


def instance_of(value: T, kind: Any, name: str, advice: str) -> T:
    """Raises `TypeError` unless `value` is an instance of `kind`, a class or a union of classes."""
    if isinstance(value, kind):
        return value
    kinds = getattr(kind, "__args__", (kind,))
    wanted = " or ".join(_plain(each) for each in kinds)
    article = "an" if wanted[0] in "aeiou" else "a"
    got = f"the class {value.__name__}" if isinstance(value, type) else repr(value)
    raise TypeError(f"{name} must be {article} {wanted}, got {got}. {advice}")


def _plain(kind: type) -> str:
    """The name of a class as words: `AbstractParticlePenalty` is a particle penalty."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", kind.__name__.removeprefix("Abstract")).lower()
