"""Cut sequences into pairs of a past and a future."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax.nn import Masked, masked_squared_error
from shootax.sklearn._scaling import Scaler


class Sequences(NamedTuple):
    """Values `(sequences, times, features)`, a mask of what was observed, and times."""

    values: np.ndarray
    observed: np.ndarray
    times: np.ndarray

    def last(self, number: int) -> "Sequences":
        """The last entries of each sequence."""
        return Sequences(*(part[:, -number:] for part in self))


def checked(X: Any, times: Any, mask: Any) -> Sequences:
    """Check the sequences that a user gave. Entries that are NaN, or where `mask` is false, are missing.

    `times` are shared, `(times,)`, or differ by sequence, `(sequences, times)`; by default 0, 1, 2, ….
    """
    values = np.asarray(X, np.float64)
    if values.ndim == 0:
        raise ValueError(
            f"X must be the known past of a series; got the number {values}. To set the number of steps "
            "to forecast, use `steps`: predict(series, steps=12)."
        )
    if values.ndim != 3 or 0 in values.shape:
        raise ValueError(
            "Sequences must have shape (sequences, times, features), none of them zero; got "
            f"{values.shape}. Use X[None] for one sequence, X[..., None] for one feature. A single "
            "series can also have shape (times,), or be a pandas Series."
        )
    if np.isinf(values).any():
        raise ValueError(
            "Sequences must be finite, or NaN where an entry is missing; got infinity."
        )
    observed = ~np.isnan(values)
    if mask is not None:
        mask = np.asarray(mask, bool)
        if mask.shape not in (values.shape, values.shape[:2]):
            raise ValueError(
                f"mask must have shape {values.shape} or {values.shape[:2]}, got {mask.shape}."
            )
        observed &= mask if mask.ndim == 3 else mask[:, :, None]
    length = values.shape[1]
    times = np.arange(length) if times is None else np.asarray(times, np.float64)
    if times.shape not in ((length,), values.shape[:2]):
        raise ValueError(
            f"times must have shape {(length,)} or {values.shape[:2]}, got {times.shape}."
        )
    times = np.broadcast_to(times, values.shape[:2]).astype(np.float64)
    if not np.isfinite(times).all() or (np.diff(times, axis=1) <= 0).any():
        raise ValueError("times must be finite and increase along each sequence.")
    return Sequences(np.where(observed, values, 0.0), observed, times)


def step(sequences: Sequences) -> float:
    """The median time from entry to entry; 1 for a single entry."""
    gaps = np.diff(sequences.times, axis=1)
    return float(np.median(gaps)) if gaps.size else 1.0


def even(sequences: Sequences, step: float, tolerance: float) -> bool:
    """Whether all entries are one step apart, up to `tolerance` times the step."""
    gaps = np.diff(sequences.times, axis=1)
    return bool(np.abs(gaps - step).max(initial=0.0) <= tolerance * step)


class Windows(NamedTuple):
    """Pasts, futures, the index of the sequence that each pair was cut from, and the index of the entry
    at which its future begins."""

    past: Sequences
    future: Sequences
    source: np.ndarray
    origin: np.ndarray


def cut(sequences: Sequences, history: int, horizon: int) -> Windows:
    """Cut out every stretch of `history` + `horizon` entries, except those with nothing observed in one
    of the two parts."""
    count, length = sequences.times.shape
    starts = np.arange(length - history - horizon + 1)
    if len(starts) == 0:
        raise ValueError(
            f"Sequences of {length} entries are too short for a past of {history} and a future of "
            f"{horizon}. Lower `history` or `horizon`."
        )

    def part(array: np.ndarray, begin: int, size: int) -> np.ndarray:
        pieces = [array[:, s + begin : s + begin + size] for s in starts]
        return np.concatenate(pieces)

    past = Sequences(*(part(array, 0, history) for array in sequences))
    future = Sequences(*(part(array, history, horizon) for array in sequences))
    source, origin = np.tile(np.arange(count), len(starts)), np.repeat(starts + history, count)
    useful = past.observed.any(axis=(1, 2)) & future.observed.any(axis=(1, 2))
    if not useful.any():
        raise ValueError(
            "Nothing is observed in any pair of a past and a future. Use sequences with fewer missing "
            "entries, or raise `history` or `horizon`."
        )
    past, future = (Sequences(*(array[useful] for array in half)) for half in (past, future))
    return Windows(past, future, source[useful], origin[useful])


def masked_error(prediction: Float[Array, "times features"], target: Any) -> Float[Array, ""]:
    """The mean squared error over observed entries. The target is a pair of values and a mask."""
    return masked_squared_error(prediction, Masked(*target))


def filled_forward(sequences: Sequences) -> np.ndarray:
    """Values with each missing entry replaced by the last known one, or at the start by the first."""
    place = np.arange(sequences.values.shape[1])[None, :, None]
    before = np.maximum.accumulate(np.where(sequences.observed, place, -1), axis=1)
    first = np.argmax(sequences.observed, axis=1, keepdims=True)
    return np.take_along_axis(sequences.values, np.where(before < 0, first, before), axis=1)


def scaler(sequences: Sequences) -> Scaler:
    """The scaler of all features, from their observed entries."""
    columns = []
    for feature in range(sequences.values.shape[2]):
        seen = sequences.observed[:, :, feature]
        values = sequences.values[:, :, feature][seen][:, None]
        columns.append(Scaler.of(values, np.ones(len(values))))
    return Scaler(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))


def appended(past: Sequences, values: np.ndarray, step: float) -> Sequences:
    """The past, followed by values at even steps."""
    later = past.times[:, -1:] + step * np.arange(1, values.shape[1] + 1)
    return Sequences(
        np.concatenate([past.values, values], axis=1),
        np.concatenate([past.observed, np.ones(values.shape, bool)], axis=1),
        np.concatenate([past.times, later], axis=1),
    )


def mean_square(forecasts: np.ndarray, future: Sequences, chosen: np.ndarray) -> float:
    """The mean squared error of forecasts on the chosen windows, over the observed entries of each."""
    seen = future.observed[chosen]
    squares = (forecasts - future.values)[chosen] ** 2 * seen
    return float(np.mean(squares.sum(axis=(1, 2)) / seen.sum(axis=(1, 2))))


def moments(count: int, steps: Any, at: Any, horizon: int, step: float) -> np.ndarray:
    """The times to forecast since the last entry, `(sequences, moments)`, from `steps` or from `at`."""
    if steps is not None and at is not None:
        raise ValueError("Give `steps` or `at`, not both.")
    if at is None:
        steps = horizon if steps is None else checks.positive_integer(steps, "steps")
        at = step * np.arange(1, steps + 1)
    at = np.asarray(at)
    if at.dtype.kind not in "fiu":
        raise ValueError(
            f"at must be numbers, the times since the last entry of X, got an array of dtype {at.dtype}. "
            "For a pandas series they are in steps, or in days if its dates have no frequency."
        )
    at = at.astype(np.float64)
    if at.ndim not in (1, 2) or at.size == 0 or (at.ndim == 2 and len(at) != count):
        raise ValueError(f"at must have shape (moments,) or ({count}, moments), got {at.shape}.")
    at = np.broadcast_to(at, (count, at.shape[-1]))
    if not np.isfinite(at).all() or (at < 0).any() or (np.diff(at, axis=1) < 0).any():
        raise ValueError("at must be finite, non-negative, and sorted along the last axis.")
    return at
