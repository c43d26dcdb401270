"""Check the arguments of a report, and convert them to its subject."""

import contextlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shootax import Net
from shootax import _checks as checks
from shootax.nn import FrameRequest, LatentModel, Masked
from shootax.report._subject import (
    Subject,
    chosen_samples,
    invented_inputs,
    parts_of,
    precision,
    samples_of,
    taken,
    unchained,
)


def subject(
    model: Any, x: Any, y: Any, *, times: Any = None, columns: Any = None, classes: Any = None
) -> Subject:
    """The subject for a model and its data, subsampled if there are many samples."""
    if hasattr(model, "net_"):
        from shootax.report._estimators import of_estimator

        return of_estimator(model, x, y, columns=columns)
    if isinstance(model, type) or not callable(model):
        raise ValueError(
            f"A report needs a model, such as a Net or a fitted estimator, got {type(model).__name__}."
        )
    notes: list[str] = []
    columns = None if columns is None else [str(name) for name in columns]
    if columns is None and hasattr(x, "columns"):
        columns = [str(name) for name in x.columns]
    target = str(getattr(y, "name", None) or "target")
    if isinstance(x, FrameRequest):
        x = x.first
    model = unchained(model)
    x = None if x is None else jax.tree.map(_numbers, x)
    if x is None and y is not None:
        raise ValueError("Targets y were given without inputs x. Give both, or neither.")
    x, y = _subsampled(x, _targets(y), notes)
    times = None if times is None else _times(times, y)
    x = None if x is None else jax.tree.map(lambda leaf: jnp.asarray(leaf, precision(model)), x)
    if isinstance(model, Net) and x is not None:
        for leaf in jax.tree.leaves(x):
            checks.finite(leaf, f"x, in the {precision(model)} of the model,")
    if x is None and isinstance(model, Net):
        x = invented_inputs(model)
        if x is not None:
            notes.append(
                "No data were given. The points are random inputs, uniform between -1.5 and 1.5."
            )
    if x is None:
        notes.append("No data were given, so the plots only show particles and weights.")
    kind, y, times, labels = _kind(model, x, y, times)
    if classes is not None:
        labels = [str(label) for label in classes]
    parts = parts_of(model, x, times, notes)
    names = columns or _input_names(x)
    return Subject(model, parts, x, y, kind, times, notes, names, target, labels, raw=x)


def _numbers(leaf: Any, name: str = "x") -> np.ndarray:
    array = np.asarray(leaf)
    checks.real_numbers(array, name)
    if array.ndim == 0:
        raise ValueError(f"{name} must have samples along its first axis, got a single number.")
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def _times(times: Any, y: Any) -> np.ndarray:
    """Check the times of the targets, if there are any."""
    found = _numbers(times, "times").astype(np.float64)
    if y is not None and (y.ndim < 2 or y.shape[1] != found.shape[-1]):
        raise ValueError(
            f"y must have shape (samples, times, ...) with {found.shape[-1]} times, got {y.shape}."
        )
    return found


def _targets(y: Any) -> Any:
    """Targets as one array, with NaN for masked frames."""
    if y is None:
        return None
    if isinstance(y, Masked):
        frames, mask = np.asarray(y.frames, np.float64), np.asarray(y.mask, bool)
        return np.where(mask.reshape(mask.shape + (1,) * (frames.ndim - mask.ndim)), frames, np.nan)
    return np.asarray(y)


def _subsampled(x: Any, y: Any, notes: list[str]) -> tuple[Any, Any]:
    if x is None:
        return x, y
    samples = samples_of(x)
    if samples == 0:
        raise ValueError("x must have at least one sample, got none.")
    if y is not None and len(y) != samples:
        raise ValueError(
            f"x has {samples} samples, but y has {len(y)}. Give a target for each sample."
        )
    chosen = chosen_samples(samples)
    if len(chosen) < samples:
        notes.append(f"{len(chosen)} of {samples} samples are shown, drawn at random.")
    return taken(x, chosen), None if y is None else y[chosen]


def _kind(model: Any, x: Any, y: Any, times: Any) -> tuple[str | None, Any, Any, list[str]]:
    """The kind of the targets, the targets as numbers, their times, and the names of the classes."""
    if isinstance(model, LatentModel) and times is None:
        times = model.times
    if y is None:
        return None, None, None if times is None else np.asarray(times, np.float64), []
    if times is not None:
        return "sequences", _numbers(y, "y").astype(np.float64), np.asarray(times, np.float64), []
    shape = jax.eval_shape(model, x).shape  # pyright: ignore[reportAttributeAccessIssue]
    flat = y.reshape(len(y)) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.dtype.kind in "OUSb":
        labels = np.asarray([str(value) for value in flat])
        names, numbers = np.unique(labels, return_inverse=True)
        return "classes", numbers, None, names.tolist()
    outputs = shape[1] if len(shape) == 2 else 0
    if flat.ndim == 1 and y.dtype.kind in "iu" and outputs > max(1, flat.max()) and flat.min() >= 0:
        return "classes", flat.astype(int), None, [str(k) for k in range(outputs)]
    if isinstance(model, Net) and y.ndim == len(shape) + 1 and y.ndim > 2:
        return "sequences", y.astype(float), np.linspace(0, model.control.T, y.shape[1]), []
    y = y.astype(np.float64)
    y = y.reshape(shape) if y.size == np.prod(shape) else y
    if y.shape != tuple(shape):
        raise ValueError(
            f"The outputs of the model have shape {tuple(shape)}, but the targets have shape {y.shape}. "
            "Give targets of the same shape, class indices, or `times` for sequences."
        )
    return "numbers", y, None, []


def _input_names(x: Any) -> list[str]:
    if x is None or not isinstance(x, np.ndarray | jax.Array) or x.ndim != 2:
        return []
    return [f"input {i + 1}" for i in range(x.shape[1])]


def history_of(history: Any, model: Any, record: dict[str, Any]) -> dict[str, list[float]]:
    """The curves of a training: the given ones, or those of an estimator or of the record of a file."""
    if history is None and hasattr(model, "loss_curve_"):
        history = {"objective": model.loss_curve_, "validation": model.validation_curve_}
    if history is None:
        kept = record.get("history")  # from a file, so it can be anything
        return _columns(kept) if isinstance(kept, dict) else {}
    history = getattr(history, "history", history)
    if not isinstance(history, dict):
        raise ValueError(
            f"history must be the `history` of a fit, a dictionary of columns, got {history!r}."
        )
    found = _columns(history)
    strange = [name for name, c in history.items() if c is not None and str(name) not in found]
    if strange:
        raise ValueError(f"history must have columns of numbers, but {strange[0]!r} is not one.")
    return found


def _columns(history: dict[Any, Any]) -> dict[str, list[float]]:
    """The columns of numbers."""
    found = {}
    for name, column in history.items():
        with contextlib.suppress(ValueError, TypeError):
            if column is not None:
                found[str(name)] = np.asarray(column, np.float64).ravel().tolist()
    return found
