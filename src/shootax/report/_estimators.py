"""The subject of a report for fitted estimators, whose nets take scaled inputs."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from sklearn.utils.validation import check_is_fitted

from shootax.extend import as_numbers
from shootax.report._subject import Part, Subject, chosen_samples, invented_inputs, precision


def of_estimator(estimator: Any, x: Any, y: Any, *, columns: Any = None) -> Subject:
    """The subject for a regressor, classifier or forecaster with a table or sequences."""
    check_is_fitted(estimator)
    notes: list[str] = []
    target = (getattr(estimator, "target_names_", None) or [getattr(y, "name", None)])[0]
    out = Subject(
        model=estimator.net_,
        parts=[],
        x=None,
        y=None,
        kind=None,
        times=None,
        notes=notes,
        columns=_columns(estimator, x, columns),
        target=str(target or "target"),
        estimator=estimator,
    )
    _check_names(estimator, x)
    if x is None:
        out.x = invented_inputs(estimator.net_)
        notes.append(
            "No data were given. The points are random inputs, uniform between -1.5 and 1.5 standard "
            "deviations of the training data."
        )
    elif hasattr(estimator, "horizon"):
        _sequences(out, _as_sequences(x))
    else:
        _table(out, x, y)
    out.parts = [Part("net", out.model, out.x, lambda net: net)]
    return out


def _columns(estimator: Any, x: Any, columns: Any) -> list[str]:
    known = getattr(estimator, "feature_names_in_", None)
    for names in (columns, known, getattr(x, "columns", None)):
        if names is not None:
            return [str(name) for name in names]
    return [f"column {i + 1}" for i in range(estimator.n_features_in_)]


def _check_names(estimator: Any, x: Any) -> None:
    """Refuse a data frame whose columns are not those of `fit`, in the same order."""
    known, names = getattr(estimator, "feature_names_in_", None), getattr(x, "columns", None)
    if known is None or names is None or list(map(str, names)) == list(known):
        return
    raise ValueError(
        f"x has the columns {list(map(str, names))}, but the estimator was fitted with {list(known)}. "
        "Give the same columns in the same order."
    )


def _as_sequences(x: Any) -> np.ndarray:
    """An array of sequences from one, or from a series or data frame of pandas."""
    values = np.asarray(as_numbers(x), np.float64)
    single = values.ndim == 1 or hasattr(x, "columns")
    return values.reshape(1, len(values), -1) if single and values.size else values


def _table(out: Subject, x: Any, y: Any) -> None:
    x = np.asarray(as_numbers(x), np.float64)
    if x.ndim != 2 or x.shape[1] != out.estimator.n_features_in_:
        raise ValueError(
            f"x must have {out.estimator.n_features_in_} columns, as in fit; got inputs of shape "
            f"{x.shape}."
        )
    scaler = out.estimator._x
    out.scale = lambda values: jnp.asarray(
        scaler.forward(np.asarray(values, np.float64)), precision(out.model)
    )
    chosen = chosen_samples(len(x))
    if len(chosen) < len(x):
        out.notes.append(f"{len(chosen)} of {len(x)} samples are shown, drawn at random.")
    out.raw, out.x = x[chosen], out.scale(x[chosen])
    if hasattr(out.estimator, "classes_"):
        out.kind = "classes" if y is not None else None
        out.classes = [str(label) for label in out.estimator.classes_]
    else:
        back = out.estimator._y
        out.unscale = lambda values: back.back(np.asarray(values, np.float64))
        out.kind = "numbers" if y is not None else None
        if out.estimator.n_repeated_inputs_:
            out.notes.append(
                f"{out.estimator.n_repeated_inputs_} inputs that repeat in the training table have "
                "their own effects, which `predict` adds. This page only shows the net."
            )
    if y is None:
        return
    y = np.asarray(y)
    if len(y) != len(x):
        raise ValueError(
            f"x has {len(x)} samples, but y has {len(y)}. Give a target for each sample."
        )
    if out.kind == "classes":
        known = {label: i for i, label in enumerate(out.classes)}
        strange = sorted({str(label) for label in y} - known.keys())
        if strange:
            raise ValueError(
                f"y contains the class {strange[0]!r}, with which the classifier was not fitted."
            )
        out.y = np.asarray([known[str(label)] for label in y[chosen]])
    else:
        scaled = out.estimator._y.forward(
            np.asarray(y[chosen], np.float64).reshape(len(chosen), -1)
        )
        out.y = np.asarray(scaled)


def _sequences(out: Subject, x: np.ndarray) -> None:
    """Set the data of a forecaster: it forecasts the last `horizon` entries from those before them."""
    estimator = out.estimator
    if x.ndim != 3 or x.shape[1] <= estimator.history_:
        raise ValueError(
            "A forecaster needs sequences of shape (sequences, times, features) that are longer than "
            f"its history of {estimator.history_} times; got shape {x.shape}."
        )
    chosen = chosen_samples(len(x), 50)
    if len(chosen) < len(x):
        out.notes.append(f"{len(chosen)} of {len(x)} sequences are shown, drawn at random.")
    x = x[chosen]
    ahead = min(estimator.horizon, x.shape[1] - estimator.history_)
    shown = estimator._shown(x[:, : x.shape[1] - ahead], x[:, -ahead:])
    out.x = jnp.asarray(shown.inputs, precision(out.model))
    out.times, out.kind, out.y = shown.times, "sequences", shown.targets
    out.unscale, out.truth = shown.unscale, x[:, -ahead:]
    out.raw = out.x
    if estimator.network_share_ < 1:
        out.notes.append(
            "The forecasts on this page are those of an autoregression plus "
            f"{estimator.network_share_:.0%} of the net. The rest of the page only shows the net."
        )
