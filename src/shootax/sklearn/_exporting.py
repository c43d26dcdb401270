"""Export a fitted estimator as one program, from raw columns to predictions or probabilities.

For each sample the program takes the columns of the table in double precision. An entry of a text column
is given by its code, its index among the column's levels, and a date by the seconds since 1970 in UTC.
NaN marks a missing entry.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from shootax.export import Whole
from shootax.sklearn import _calendar as calendar
from shootax.sklearn._scaling import Scaler

UNKNOWN = -1
"""The code of an entry that did not occur in training."""


def exported(
    estimator: Any,
    finish: Callable[[Any], Any],
    predict: Callable[[Any], np.ndarray],
    outputs: dict[str, Any],
) -> Whole:
    """An estimator of tables with its encoding and scaling, ready for export.

    **Arguments:** `finish`, the function from the outputs of the net to the predictions; `predict`, the
    estimator's predictions for encoded samples; `outputs`, the description of the outputs, for the
    file beside the program.
    """
    table, scaler = estimator._table, estimator._x
    count = estimator.n_features_in_
    if table is None:
        names = getattr(estimator, "feature_names_in_", [f"x{i}" for i in range(count)])
        columns = [{"name": str(name), "levels": None, "mean": None} for name in names]
    else:
        columns = table["columns"]

    def prepare(x: Float[Array, "samples columns"]) -> Float[Array, "samples numbers"]:
        return scaled(x if table is None else encoded(x, columns), scaler)

    def sample(rng: np.random.Generator, samples: int) -> np.ndarray:
        return _sample(rng, samples, columns, scaler)

    def reference(x: np.ndarray) -> np.ndarray:
        return predict(x if table is None else _by_the_table(x, columns))

    missing = "allowed" if table is not None else "not allowed"
    inputs = [
        {"name": column["name"], **_described(column), "missing": missing} for column in columns
    ]
    about = {"estimator": type(estimator).__name__, "inputs": inputs, "outputs": outputs}
    return Whole(estimator.net_, (len(columns),), prepare, finish, about, sample, reference)


def scaled(x: Float[Array, "samples n"], scaler: Scaler) -> Float[Array, "samples n"]:
    """The traced form of `Scaler.forward`. A constant column becomes zero."""
    spread = np.asarray(scaler.spread, np.float64)[None]
    varies = spread > 0
    moved = (x - np.asarray(scaler.mean, np.float64)[None]) / np.where(varies, spread, 1.0)
    return moved if varies.all() else moved * varies.astype(np.float64)


def unscaled(y: Float[Array, "samples n"], scaler: Scaler) -> Float[Array, "samples n"]:
    """The traced form of `Scaler.back`."""
    mean, spread = (np.asarray(part, np.float64)[None] for part in scaler)
    return y * spread + mean


def encoded(
    x: Float[Array, "samples columns"], columns: Sequence[dict]
) -> Float[Array, "samples n"]:
    """The traced form of `columns.encode`, for columns of numbers and codes."""
    parts, i = [], 0
    while i < len(columns):
        column, stop = columns[i], i + 1
        if _is_plain(column):
            while stop < len(columns) and _is_plain(columns[stop]):  # adjacent columns together
                stop += 1
            means = np.array([[entry["mean"] or 0.0 for entry in columns[i:stop]]])
            part = x[:, i:stop]
            parts.append(jnp.where(jnp.isnan(part), means, part))
        else:
            parts += _column(x[:, i:stop], column)
        i = stop
    return jnp.concatenate(parts, axis=1)


def _is_plain(column: dict[str, Any]) -> bool:
    numeric = column["levels"] is None and not column.get("calendar")
    return numeric and not column["missing"]


def _column(
    part: Float[Array, "samples 1"], column: dict[str, Any]
) -> list[Float[Array, "samples _"]]:
    lost = jnp.isnan(part)
    if column.get("calendar"):
        out = calendar.encoded(part, column["calendar"])
    elif column["levels"] is None:
        out = jnp.where(lost, np.full((1, 1), column["mean"] or 0.0), part)
    else:
        codes = np.arange(len(column["levels"]), dtype=np.float64)[None]
        out = (part == codes).astype(np.float64)
    return [out, lost.astype(np.float64)] if column["missing"] else [out]


def _described(column: dict[str, Any]) -> dict[str, Any]:
    """The description of a column in the file beside the program."""
    if column.get("calendar"):
        return {"kind": "date", "format": column["calendar"]["format"] or "ISO8601"}
    if column["levels"] is not None:
        return {"kind": "category", "levels": column["levels"]}
    return {"kind": "number", **({"offset": column["offset"]} if column.get("offset") else {})}


def _sample(
    rng: np.random.Generator, samples: int, columns: Sequence[dict], scaler: Scaler
) -> np.ndarray:
    """Random raw samples in the range of the training table, with missing and unknown entries."""
    x, place = np.empty((samples, len(columns))), 0
    for i, column in enumerate(columns):
        width = 1 if column["levels"] is None else len(column["levels"])
        if column.get("calendar"):
            # The first of its numbers is years since the mean.
            middle, spread = column["calendar"]["mean"], scaler.spread[place] * calendar.YEAR
            x[:, i] = np.round(middle + spread * rng.uniform(-1.7, 1.7, samples))
            width = 2 + 2 * len(column["calendar"]["circles"])
        elif column["levels"] is None:
            mean, spread = scaler.mean[place], scaler.spread[place]
            x[:, i] = mean + spread * rng.uniform(-1.7, 1.7, samples)  # as wide as a uniform column
            if column.get("offset"):  # these are whole numbers
                x[:, i] = np.round(x[:, i])
        else:
            x[:, i] = rng.integers(UNKNOWN, len(column["levels"]), samples)
        if column.get("missing"):
            x[rng.random(samples) < 0.2, i] = np.nan
        place += width + bool(column.get("missing"))
    return x


def _by_the_table(x: np.ndarray, described: Sequence[dict]) -> np.ndarray:
    """Encode raw samples as inputs of the estimator, by way of a table with the text in it."""
    import pandas as pd

    from shootax.sklearn import _columns as tables

    frame = {}
    for values, column in zip(x.T, described, strict=True):
        if column.get("calendar"):
            frame[column["name"]] = pd.to_datetime(values, unit="s")
        elif column["levels"] is None:
            offset = column.get("offset") or 0
            frame[column["name"]] = values if not offset else _whole(values, offset)
        else:
            text = [*column["levels"], "\0 never seen"]  # index -1, the code of unknown entries
            frame[column["name"]] = [None if v != v else text[int(v)] for v in values]
    return tables.encode(pd.DataFrame(frame), tables.from_json(list(described)))[0]


def _whole(values: np.ndarray, offset: int) -> Any:
    import pandas as pd

    entries = [None if v != v else int(v) + offset for v in values]
    return pd.array(entries, dtype="Int64")  # pyright: ignore[reportArgumentType,reportCallIssue]
