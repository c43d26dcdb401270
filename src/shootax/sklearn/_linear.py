"""Linear autoregression: forecasts of all steps ahead as one affine map of the past.

Differences, seasonal differences and the recursion from step to step are all linear, so every fitted
autoregression is an affine map, and so is the mean of several.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np


class Linear(NamedTuple):
    """$\\hat y_{hf} = b_{hf} + Σ_{ig} W_{hfig}\\, y_{ig}$ of the past $y$, `(history, features)`."""

    weight: np.ndarray
    bias: np.ndarray

    def __call__(self, past: np.ndarray) -> np.ndarray:
        """Forecasts `(samples, horizon, features)` of pasts `(samples, history, features)`."""
        return np.einsum("nig,hfig->nhf", past, self.weight) + self.bias


class Order(NamedTuple):
    """The order of an autoregression.

    **Arguments:** `lags`, the number of lags; `differences` and `seasonal`, the numbers of differences
    that are taken, from step to step and from season to season; `season`, the length of the season in
    steps; `ridge`, the strength of the penalty on squared coefficients; `cross`, whether a feature
    depends on the past of the others.
    """

    lags: int
    differences: int
    seasonal: int
    season: int
    ridge: float
    cross: bool

    @property
    def reach(self) -> int:
        """The number of past entries that it uses."""
        return self.lags + self.differences + self.seasonal * self.season

    @property
    def filter(self) -> np.ndarray:
        """The coefficients of $(1 - L)^d (1 - L^m)^D$ in powers of the lag $L$."""
        out = np.ones(1)
        for _ in range(self.differences):
            out = np.convolve(out, [1.0, -1.0])
        for _ in range(self.seasonal):
            out = np.convolve(out, [1.0, *np.zeros(self.season - 1), -1.0])
        return out


def candidates(history: int, seasons: Sequence[int], features: int) -> list[Order]:
    """The autoregressions to try that use at most `history` entries."""
    out = []
    for season in seasons:
        lags = {0, 1, 2, 3, 5, 8, 12, 18, 24, season, season + 1, 2 * season}
        for d, D in ((0, 0), (1, 0), (0, 1), (1, 1)):
            if D and season < 2:
                continue
            for p in sorted(lags):
                for ridge in RIDGES if p else (0.0,):
                    for cross in (False, True) if features > 1 and p else (False,):
                        order = Order(p, d, D, season, ridge, cross)
                        if order.reach <= history and p * features <= MOST_UNKNOWNS:
                            out.append(order)
    return list(dict.fromkeys(out))


RIDGES = (1e-4, 1e-2, 1e-1)
PLAIN = 1e-9
"""The smallest ridge, which only guards against rounding errors."""
MOST_UNKNOWNS = 400


class _Rows(NamedTuple):
    """The least-squares problem of one feature, centred: inputs, targets, and their means."""

    x: np.ndarray
    y: np.ndarray
    middle: np.ndarray
    mean: float


def fitted(
    order: Order, values: np.ndarray, observed: np.ndarray, history: int, horizon: int
) -> Linear | None:
    """Fit an autoregression to sequences by least squares, and return its forecasts of all steps as one
    map, or `None` if the sequences are too short.

    **Arguments:** `values`, `(sequences, times, features)`; `observed`, of the same shape, true where
    an entry is known; `history` and `horizon`, the numbers of entries before and after the map.
    """
    features = values.shape[2]
    coefficients, constant = np.zeros((features, order.lags, features)), np.zeros(features)
    differenced = _differenced(order, values, observed)
    for f in range(features):
        sources = list(range(features)) if order.cross else [f]
        rows = _rows(order, *differenced, f, sources)
        if rows is None:
            return None
        constant[f] = rows.mean
        if order.lags:
            gram = rows.x.T @ rows.x
            size = max(np.trace(gram) / len(gram), SMALLEST)
            gram += (order.ridge + PLAIN) * size * np.eye(len(gram))
            found = np.linalg.solve(gram, rows.x.T @ rows.y)
            coefficients[f][:, sources] = found.reshape(order.lags, len(sources))
            constant[f] -= rows.middle @ found
    return _unrolled(coefficients, constant, order.filter, history, horizon)


SMALLEST = 1e-12


def plain(values: np.ndarray, observed: np.ndarray, most: int) -> Order:
    """An autoregression without differences, with up to `most` lags by Akaike's criterion."""
    best, chosen = np.inf, 1
    for lags in range(1, most + 1):
        order = Order(lags, 0, 0, 1, 0.0, False)
        total = 0.0
        for f in range(values.shape[2]):
            # All numbers of lags start at the same entry, so that they have the same targets.
            rows = _rows(order, values[:, most - lags :], observed[:, most - lags :], f, [f])
            if rows is None or len(rows.y) < 3 * lags:
                total = np.inf
                break
            found = np.linalg.lstsq(rows.x, rows.y, rcond=None)[0]
            squares = max(np.mean((rows.y - rows.x @ found) ** 2), SMALLEST)
            total += len(rows.y) * np.log(squares) + 2 * (lags + 1)
        if total < best:
            best, chosen = total, lags
    return Order(chosen, 0, 0, 1, 0.0, False)


def _differenced(
    order: Order, values: np.ndarray, observed: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The differences of sequences, and a mask of those that are known."""
    filter = order.filter
    length = max(values.shape[1] - len(filter) + 1, 0)

    def lag(array: np.ndarray, j: int) -> np.ndarray:
        return array[:, len(filter) - 1 - j :][:, :length]

    z = sum(c * lag(values, j) for j, c in enumerate(filter) if c)
    known = np.all([lag(observed, int(j)) for j in np.flatnonzero(filter)], axis=0)
    return np.asarray(z), known


def _rows(
    order: Order, z: np.ndarray, known: np.ndarray, feature: int, sources: list[int]
) -> _Rows | None:
    """Targets of one feature and their lags, where all of these are known; `None` if there are too
    few."""
    count, lags = z.shape[1] - order.lags, range(1, order.lags + 1)
    if count < 1:
        return None

    def lagged(array: np.ndarray) -> np.ndarray:
        parts = [array[:, order.lags - i :, sources][:, :count] for i in lags]
        return np.stack(parts, axis=2).reshape(len(array) * count, -1)

    y = z[:, order.lags :, feature].reshape(-1)
    use = known[:, order.lags :, feature].reshape(-1)
    x = np.empty((len(y), 0))
    if order.lags:
        x, use = lagged(z), use & lagged(known).all(axis=1)
    x, y = x[use], y[use]
    if len(y) < 1.5 * x.shape[1] + 3:
        return None
    # With a constant term, forecasts of a series that was differenced twice would be parabolas.
    if order.differences + order.seasonal < 2:
        middle, mean = x.mean(axis=0), float(y.mean())
    else:
        middle, mean = np.zeros(x.shape[1]), 0.0
    return _Rows(x - middle, y - mean, middle, mean)


def _unrolled(
    coefficients: np.ndarray, constant: np.ndarray, filter: np.ndarray, history: int, horizon: int
) -> Linear | None:
    """Convert one-step coefficients of the differenced series to a map of all steps of the series."""
    features, lags, _ = coefficients.shape
    one = np.zeros((features, history, features))  # by lag, the last entry first
    for f in range(features):
        for g in range(features):
            own = np.concatenate([[1.0 if f == g else 0.0], -coefficients[f, :, g]])
            one[f, : lags + len(filter) - 1, g] = -np.convolve(own, filter)[1:]
    # Row t is entry t of the series, as an affine function of the history.
    size = history * features
    rows = np.zeros((history + horizon, features, size + 1))
    rows[:history].reshape(size, size + 1)[:, :size] = np.eye(size)
    for t in range(history, history + horizon):
        past = rows[t - history : t][::-1]
        rows[t] = np.einsum("fig,igs->fs", one, past)
        rows[t][:, -1] += constant
    out = rows[history:]
    if not np.isfinite(out).all() or np.abs(out).max() > 1e6:  # an explosive recursion
        return None
    weight = out[..., :-1].reshape(horizon, features, history, features)
    return Linear(weight, out[..., -1])


def average(maps: Sequence[Linear], weights: Sequence[float] | np.ndarray) -> Linear:
    """The map whose forecasts are the weighted average of those of several."""
    share = np.asarray(weights) / np.sum(weights)
    return Linear(*(np.tensordot(share, np.stack(parts), 1) for parts in zip(*maps, strict=True)))
