"""Sequences cut into pairs of a past and a future."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Float

from shootax.nn import Masked, masked_squared_error
from shootax.sklearn._scaling import Scaler


class Sequences(NamedTuple):
    """Values `(sequences, times, features)`, what of them was observed, and when."""

    values: np.ndarray
    observed: np.ndarray
    times: np.ndarray

    def last(self, number: int) -> "Sequences":
        """The last entries of each sequence."""
        return Sequences(*(part[:, -number:] for part in self))


def checked(X: Any, times: Any, mask: Any) -> Sequences:
    """Sequences as they come from a user. Entries that are NaN, or where `mask` is false, are missing.

    `times` are shared, `(times,)`, or each sequence's own; without them a step is one unit.
    """
    values = np.asarray(X, np.float64)
    if values.ndim != 3 or 0 in values.shape:
        raise ValueError(
            "Sequences must have shape (sequences, times, features), none of them zero; got "
            f"{values.shape}. Use X[None] for one sequence, X[..., None] for one feature."
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


class Windows(NamedTuple):
    """Pasts, futures, and the number of the sequence that each pair was cut from."""

    past: Sequences
    future: Sequences
    source: np.ndarray


def cut(sequences: Sequences, history: int, horizon: int) -> Windows:
    """Every stretch of `history` + `horizon` entries, but for those with nothing observed in either
    half."""
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
    source = np.tile(np.arange(count), len(starts))
    useful = past.observed.any(axis=(1, 2)) & future.observed.any(axis=(1, 2))
    if not useful.any():
        raise ValueError("Nothing is observed in any pair of a past and a future.")
    past, future = (Sequences(*(array[useful] for array in half)) for half in (past, future))
    return Windows(past, future, source[useful])


def masked_error(prediction: Float[Array, "times features"], target: Any) -> Float[Array, ""]:
    """The mean squared error over what was observed. The target is a pair of values and a mask."""
    return masked_squared_error(prediction, Masked(*target))


def scaler(sequences: Sequences) -> Scaler:
    """The scaler of every feature, over what was observed of it."""
    columns = []
    for feature in range(sequences.values.shape[2]):
        seen = sequences.observed[:, :, feature]
        values = sequences.values[:, :, feature][seen][:, None]
        columns.append(Scaler.of(values, np.ones(len(values))))
    return Scaler(*(np.concatenate(parts) for parts in zip(*columns, strict=True)))


def appended(past: Sequences, values: np.ndarray, step: float) -> Sequences:
    """The past, and after it values at even steps."""
    later = past.times[:, -1:] + step * np.arange(1, values.shape[1] + 1)
    return Sequences(
        np.concatenate([past.values, values], axis=1),
        np.concatenate([past.observed, np.ones(values.shape, bool)], axis=1),
        np.concatenate([past.times, later], axis=1),
    )
