"""Forecasts of any length from a fitted forecaster, piece by piece."""

import warnings
from typing import Any

import numpy as np

from shootax.sklearn import _moments as dates
from shootax.sklearn import _series as series
from shootax.sklearn import _training as training
from shootax.sklearn import _windows as windows
from shootax.sklearn._windows import Sequences


def checked_past(model: Any, X: Any, times: Any, mask: Any) -> tuple[Sequences, series.Form]:
    """Check the past that a user gave, and return the entries that a forecast uses, and their form.

    **Arguments:** `model`, a fitted [`shootax.sklearn.ShootingForecaster`][]; `X`, `times` and `mask`,
    as in its `predict`.
    """
    series.check_columns(X, getattr(model, "feature_names_in_", None))
    X, times, mask, form = series.taken(X, times, mask, model._frequency, uneven=model._uneven)
    if form.frequency is not None and times is None:
        dates.check_frequency(form.index, model._frequency)
    past = windows.checked(X, times, mask)
    if past.values.shape[2] != model.n_features_in_:
        raise ValueError(
            f"X has {past.values.shape[2]} features, but {type(model).__name__} was fitted with "
            f"{model.n_features_in_}."
        )
    if past.values.shape[1] < model.history_:
        raise ValueError(
            f"A forecast needs at least {model.history_} past entries, got {past.values.shape[1]}."
        )
    past = past.last(model.history_)
    if not model._missing and not past.observed.all():
        warnings.warn(
            "Entries of X are missing, but none were in training; means replace them.",
            stacklevel=3,
        )
    named = model._base is not None and times is not None
    if named and not windows.even(past, model.step_, 1e-3):
        warnings.warn(
            f"The times of X are not {model.step_:g} apart as in training. The forecast ignores this.",
            stacklevel=3,
        )
    return past, form


def rolled(model: Any, past: Sequences, at: np.ndarray) -> np.ndarray:
    """Scaled forecasts at moments `(sequences, moments)` after the past. Each piece starts from the end
    of the previous one."""
    length = min(model.horizon * model.step_, model.span_)
    steps = max(round(length / model.step_), 1)
    grid = model.step_ * np.arange(1, steps + 1)
    slack = 1e-9 * model.step_
    out = np.empty((*at.shape, model.n_features_in_))
    scaled, begin = past._replace(values=model._scaled(past)), 0.0
    # The last piece may extend over all of the learned time.
    while True:
        final = at.max() <= begin + model.span_ + slack
        limit = np.inf if final else begin + grid[-1] + slack
        inside = (at <= limit) & (at > (begin - slack if begin == 0 else begin + slack))
        wanted = np.clip(np.where(inside, at - begin, 0.0), 0.0, model.span_)
        moments = np.concatenate([wanted, np.broadcast_to(grid, (len(at), steps))], axis=1)
        values = _piece(model, scaled, moments)
        out[inside] = values[:, : at.shape[1]][inside]
        if final:
            return out
        scaled = windows.appended(scaled, values[:, at.shape[1] :], model.step_)
        scaled, begin = scaled.last(model.history_), begin + grid[-1]


def _piece(model: Any, scaled: Sequences, moments: np.ndarray) -> np.ndarray:
    """Scaled forecasts at moments in any order, none beyond the learned time."""
    order = np.argsort(moments, axis=1, kind="stable")
    shares = np.clip(np.take_along_axis(moments, order, axis=1) / model.span_, 0.0, 1.0)
    values = training.outputs(model.net_, model._features(scaled), shares)
    values = np.take_along_axis(values, np.argsort(order, axis=1)[:, :, None], axis=1)
    if model._base is None:
        return values
    return model._base.forecast(scaled, values, moments / model.step_)
