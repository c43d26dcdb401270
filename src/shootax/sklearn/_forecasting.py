"""The parts of a forecaster apart from its net: an autoregression, the share of the net, and
prediction intervals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from shootax import _checks as checks
from shootax.sklearn._linear import SMALLEST, Linear
from shootax.sklearn._rolling import checked_past
from shootax.sklearn._windows import Sequences, filled_forward

LEVELS = 200
USUAL_CHANGES = 10
"""The roughness of a past is estimated as if this number of changes of the usual size were known in
addition, because a few changes say little, and a flat past does not imply a flat future."""


class Base(NamedTuple):
    """A linear autoregression, to which a share of the net is added.

    **Arguments:**

    - `linear`: the map from scaled pasts to scaled forecasts at whole steps.
    - `scale`: the factor of the net's outputs, `(horizon, features)`.
    - `share`: the share of the net that is added, from 0 to 1.
    - `spread`: the spread of the net's inputs, `(features,)`, if these are differences from the last
        entry; `None` if they are the entries themselves.
    """

    linear: Linear
    scale: np.ndarray
    share: float
    spread: np.ndarray | None

    def inputs(self, past: Sequences) -> np.ndarray:
        """The inputs of the net from the values of a past, `(samples, numbers)`."""
        values = past.values
        if self.spread is not None:
            known = filled_forward(past)
            values = (known[:, :-1] - known[:, -1:]) / self.spread
        return values.reshape(len(values), -1)

    def forecast(self, past: Sequences, net: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Scaled forecasts, with linear interpolation between whole steps.

        **Arguments:** `past`, the scaled past; `net`, the outputs of the net, `(samples, moments,
        features)`; `steps`, the moments in steps after the last entry, `(samples, moments)`.
        """
        known = filled_forward(past)
        values = np.concatenate([known[:, -1:], self.linear(known)], axis=1)
        scale = np.concatenate([np.zeros_like(self.scale[:1]), self.scale])
        scale = np.broadcast_to(scale, values.shape)
        return between(values, steps) + self.share * between(scale, steps) * net

    def to_json(self) -> dict[str, Any]:
        return {
            "weight": self.linear.weight.tolist(),
            "bias": self.linear.bias.tolist(),
            "scale": self.scale.tolist(),
            "share": self.share,
            "spread": None if self.spread is None else self.spread.tolist(),
        }

    @classmethod
    def from_json(cls, tree: dict[str, Any]) -> "Base":
        linear = Linear(np.array(tree["weight"]), np.array(tree["bias"]))
        spread = None if tree["spread"] is None else np.array(tree["spread"])
        return cls(linear, np.array(tree["scale"]), float(tree["share"]), spread)


def between(values: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Interpolate values `(samples, places, features)` at the places 0, 1, … linearly, at moments
    `(samples, moments)`."""
    low = np.clip(np.floor(steps + 1e-9).astype(int), 0, values.shape[1] - 2)
    share = np.clip(steps - low, 0.0, 1.0)[:, :, None]
    first = np.take_along_axis(values, low[:, :, None], axis=1)
    return first + share * (np.take_along_axis(values, low[:, :, None] + 1, axis=1) - first)


def spread_of(past: Sequences) -> np.ndarray:
    """The root mean square of differences from the last entry, by feature."""
    known = filled_forward(past)
    return np.sqrt(np.mean((known[:, :-1] - known[:, -1:]) ** 2, axis=(0, 1))) + SMALLEST


def residual_scale(residuals: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The root mean square of observed residuals, `(horizon, features)`. A step without observations
    gets that of all steps."""
    count = observed.sum(axis=0)
    squares = np.sum(residuals**2 * observed, axis=0)
    overall = squares.sum(axis=0) / np.maximum(count.sum(axis=0), 1)
    return np.sqrt(np.where(count > 0, squares / np.maximum(count, 1), overall)) + SMALLEST


CONFIDENCE = 0.95


def share_of(
    residuals: np.ndarray, net: np.ndarray, observed: np.ndarray, groups: np.ndarray
) -> float:
    """The share of the net to add: the best one on held-out windows, less its uncertainty.

    It is the lower end of a one-sided confidence interval for the slope of a regression of the
    residuals on the net's outputs. Overlapping windows are nearly equal, so the standard error is that
    of groups of windows, with Student's t distribution.

    **Arguments:** for all held-out windows, `residuals`, `net` and `observed`, each `(windows, horizon,
    features)`, and `groups`, the number of each window's group.
    """
    count = int(groups.max()) + 1
    if count < 2:
        return 0.0
    products = np.bincount(groups, np.sum(residuals * net * observed, axis=(1, 2)), count)
    squares = np.bincount(groups, np.sum(net**2 * observed, axis=(1, 2)), count)
    total = max(squares.sum(), SMALLEST**2)
    slope = products.sum() / total
    rest = np.sqrt(count / (count - 1) * np.sum((products - slope * squares) ** 2))
    return float(np.clip(slope - student(CONFIDENCE, count - 1) * rest / total, 0.0, 1.0))


def student(probability: float, degrees: int) -> float:
    """The quantile of Student's t distribution."""
    return float(scipy.special.stdtrit(degrees, probability))


class Shown(NamedTuple):
    """Data for a net in the net's units: inputs, targets, the times of the targets, and a function from
    outputs to forecasts."""

    inputs: np.ndarray
    times: np.ndarray
    targets: np.ndarray
    unscale: Callable[[Any], np.ndarray]


def shown(estimator: Any, past: np.ndarray, future: np.ndarray) -> Shown:
    """Data for the net of a forecaster, from the first steps of a forecast, for plots and reports."""
    checked, _ = checked_past(estimator, past, None, None)
    scaled, base = checked._replace(values=estimator._scaled(checked)), estimator._base
    steps, targets = np.arange(1, future.shape[1] + 1), estimator._x.forward(future)
    if base is not None:
        linear = base.linear(filled_forward(scaled))
        targets = (targets - linear[:, : len(steps)]) / base.scale[: len(steps)]

    def unscale(values: Any) -> np.ndarray:
        values = np.asarray(values, np.float64)
        if base is not None:
            values = base.forecast(scaled, values, np.tile(steps, (len(values), 1)))
        return estimator._x.back(values)

    times = np.clip(steps * estimator.step_ / estimator.span_, 0, 1)
    return Shown(estimator._features(scaled), times, targets, unscale)


def local_share(history: int) -> float:
    """The weight of the roughness of a past with `history` entries."""
    return (history - 1) / (history - 1 + USUAL_CHANGES)


class Spans(NamedTuple):
    """Conformal quantiles of the forecast errors on held-out windows, by step and feature.

    Errors are divided by a scale that grows with the roughness of the window's past, so intervals widen
    where a series is rough. The squared scale is a mixture of the mean square of the changes in that
    past, relative to its usual value, and of one.

    **Arguments:** `quantiles`, `(levels, horizon, features)`, of coverages in even steps from 0 to
    1; `count`, the number of windows; `local`, the weight of the past's own roughness, from 0 to 1;
    `usual`, the mean roughness, `(features,)`.
    """

    quantiles: np.ndarray
    count: int
    local: float = 0.0
    usual: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        errors: np.ndarray,
        observed: np.ndarray,
        past: Sequences | None = None,
        local: float = 0.0,
    ) -> "Spans":
        """The quantiles of errors `(windows, horizon, features)`, with the conformal correction for
        their number: the error of the next window is equally likely to fall between any two of them."""
        usual = None
        if past is not None and past.values.shape[1] > 1:
            rough = roughness(past)
            usual = rough.mean(axis=0) + SMALLEST
            errors = errors / _scale(rough, usual, local)[:, None]
        levels = np.linspace(0, 1, LEVELS + 1)
        found = np.empty((len(levels), *errors.shape[1:]))
        for h, f in np.ndindex(*errors.shape[1:]):
            some = np.sort(np.abs(errors[:, h, f][observed[:, h, f]]))
            if len(some) == 0:
                found[:, h, f] = np.nan
                continue
            rank = np.ceil(levels * (len(some) + 1)).astype(int) - 1
            found[:, h, f] = some[np.clip(rank, 0, len(some) - 1)]
        return cls(found, len(errors), local, usual)

    def at(self, coverage: float, steps: np.ndarray, past: Sequences | None = None) -> np.ndarray:
        """Half the width of the interval at moments `(samples, moments)`, in steps, after the scaled
        pasts, or for the usual roughness if `past` is `None`."""
        place = coverage * LEVELS
        low = min(int(np.floor(place)), LEVELS - 1)
        half = self.quantiles[low] + (place - low) * (self.quantiles[low + 1] - self.quantiles[low])
        half = np.concatenate([np.zeros_like(half[:1]), half])
        found = between(np.broadcast_to(half, (len(steps), *half.shape)), steps)
        if self.usual is None or past is None:
            return found
        return found * _scale(roughness(past), self.usual, self.local)[:, None]

    def to_json(self) -> dict[str, Any]:
        return {
            "quantiles": self.quantiles.tolist(),
            "count": self.count,
            "local": self.local,
            "usual": None if self.usual is None else self.usual.tolist(),
        }

    @classmethod
    def from_json(cls, tree: dict[str, Any]) -> "Spans":
        usual = tree.get("usual")  # older files have none
        return cls(
            np.array(tree["quantiles"], np.float64),
            int(tree["count"]),
            float(tree.get("local", 0.0)),
            None if usual is None else np.array(usual, np.float64),
        )


def roughness(past: Sequences) -> np.ndarray:
    """The mean square of the changes from entry to entry, `(samples, features)`."""
    return np.mean(np.diff(filled_forward(past), axis=1) ** 2, axis=1)


def _scale(rough: np.ndarray, usual: np.ndarray, local: float) -> np.ndarray:
    return np.sqrt(local * rough / usual + 1 - local)


def checked_coverage(coverage: Any) -> float:
    """Check the probability that a user gave."""
    if not 0 < checks.positive_number(coverage, "coverage") < 1:
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage}.")
    return float(coverage)
