"""Checks of user input. Each message says what was got, what was expected, and what to do."""

import inspect
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.core
import jax.numpy as jnp
import numpy as np


def is_concrete(x: Any) -> bool:
    """Whether the values of `x` are known, i.e. `x` is not being traced."""
    return not isinstance(x, jax.core.Tracer)


def shown(value: Any) -> str:
    """Format a value for a message, with its type, cut to one line."""
    if inspect.isclass(value):
        return f"the class {value.__name__} itself"
    if isinstance(value, eqx.Module) or callable(value):
        return f"a {type(value).__name__}"  # their values fill a screen
    text = " ".join(repr(value).split())
    text = text if len(text) <= 80 else f"{text[:77]}..."
    return text if value is None else f"{text} (of type {type(value).__name__})"


def instance(value: Any, kind: Any, name: str, example: str) -> Any:
    """Return `value` if it is an instance of the class (or union of classes) `kind`."""
    if isinstance(value, kind):
        return value
    parts = getattr(kind, "__args__", (kind,))
    wanted = " or ".join(part.__name__ for part in parts)
    advice = f"Write {value.__name__}(...)" if inspect.isclass(value) else f"Write {example}"
    raise TypeError(f"{name} must be an instance of {wanted}, got {shown(value)}. {advice}.")


def random_key(key: Any) -> Any:
    """Return `key` if it is a JAX random key: a typed one, or an older array of two uint32."""
    dtype = getattr(key, "dtype", None)
    typed = dtype is not None and jnp.issubdtype(dtype, jax.dtypes.prng_key)
    legacy = dtype == np.uint32 and np.ndim(key) == 1
    if legacy or (typed and key.shape == ()):
        return key
    what = f"an array of {key.shape} keys" if typed else shown(key)
    raise TypeError(
        f"key must be one JAX random key, as in jax.random.key(0); got {what}."
        + (" Take one of them, as in keys[0]." if typed else "")
    )


def positive_integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
    return int(value)


def non_negative_integer(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} must be a whole number of at least 0, got {value!r}.")
    return int(value)


def seed(value: Any) -> int:
    """A whole number of at least 0, as random generators take."""
    return non_negative_integer(value, "seed")


def boolean(value: Any, name: str) -> bool:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} must be True or False, got {value!r}.")
    return bool(value)


def sequence(value: Any, name: str, example: str) -> tuple:
    """Return `value` as a tuple if it is a list, a tuple or a similar sequence."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        raise TypeError(f"{name} must be a sequence, as in {example}; got {shown(value)}.")
    return tuple(value)


def extent(value: Any) -> tuple[int, ...]:
    """The size of an image: a whole number for each spatial axis."""
    sizes = sequence(value, "size", "size=(6, 6)")
    if not sizes:
        raise ValueError("size must have a number for each spatial axis, as in (6, 6); got ().")
    return tuple(positive_integer(n, "size") for n in sizes)


def path(value: Any, name: str) -> Any:
    """Return `value` if it can be the name of a file or folder."""
    if not isinstance(value, str | os.PathLike) or not str(value):
        raise TypeError(f"{name} must be text or a pathlib.Path, got {shown(value)}.")
    return value


def function(value: Any, name: str, what: str) -> Any:
    """Return `value` if it can be called and is not a class."""
    if not callable(value) or inspect.isclass(value):
        raise TypeError(f"{name} must be {what}, got {shown(value)}.")
    return value


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


def finite_number(value: Any, name: str) -> float:
    found = number(value, name)
    if not math.isfinite(found):
        raise ValueError(f"{name} must be a finite number, got {value!r}.")
    return found


def _as_float(value: Any, expected: str) -> float:
    try:
        if isinstance(value, str | bytes | bool | np.bool_):  # float("1") would let T="1" pass
            raise TypeError
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{expected}, got {value!r}.") from None


def real_numbers(array: Any, name: str) -> None:
    """Refuse text, objects and complex numbers, judging by the dtype. `bool` counts as 0 and 1."""
    dtype = array.dtype
    if jnp.issubdtype(dtype, np.complexfloating):
        raise ValueError(
            f"{name} must hold real numbers, got an array of dtype {dtype}. Give real and imaginary "
            "parts as separate entries."
        )
    if not (jnp.issubdtype(dtype, np.number) or jnp.issubdtype(dtype, np.bool_)):
        raise ValueError(
            f"{name} must hold numbers, got an array of dtype {dtype}. Convert it first, as in "
            "np.asarray(x, float)."
        )


def finite(values: Any, name: str) -> None:
    """Refuse NaN and infinity, and name the first such entry. Traced values pass.

    Arrays on a device are copied to the host, so use this for values that are given once, such as
    training data, and not in every call of a model.
    """
    if not is_concrete(values):
        return
    array = np.asarray(values)
    real_numbers(array, name)
    bad = ~np.isfinite(array)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        what = "NaN" if np.isnan(array[where]) else "infinity"
        raise ValueError(
            f"{name} must be finite, got {int(bad.sum())} NaN or infinite entries (the first is "
            f"{what} at index {where}). Remove or impute those samples."
        )


def converted(array: np.ndarray, dtype: Any, name: str) -> np.ndarray:
    """Convert an array to floats of `dtype`, and refuse numbers that become infinite by that."""
    with np.errstate(over="ignore"):
        found = array.astype(dtype)
    lost = np.isinf(found) & np.isfinite(array)
    if lost.any():
        where = tuple(int(i) for i in np.argwhere(lost)[0])
        raise ValueError(
            f"{name} has numbers that are too large for {np.dtype(dtype)} (the first is "
            f"{array[where]:g} at index {where}). Scale the data, or compute in double precision: "
            'jax.config.update("jax_enable_x64", True).'
        )
    return found


def one_of(value: Any, allowed: Any, name: str) -> str:
    if not isinstance(value, str) or value not in allowed:
        raise ValueError(f"Unknown {name} {value!r}. Choose one of: {', '.join(sorted(allowed))}.")
    return value
