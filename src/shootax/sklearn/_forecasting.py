"""What a forecaster has beside its net: an autoregression, how much of the net is added, and
intervals."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shootax import _checks as checks
from shootax.sklearn._linear import SMALLEST, Linear
from shootax.sklearn._windows import Sequences, filled_forward

LEVELS = 200


class Base(NamedTuple):
    """A linear autoregression, to which a share of the net is added.

    **Arguments:**

    - `linear`: from scaled pasts to scaled forecasts at whole steps.
    - `scale`: what the net's outputs are multiples of, `(horizon, features)`.
    - `share`: from 0 to 1, how much of the net is added.
    - `spread`: of the inputs of the net, `(features,)`, where they are differences to the last
        entry; `None` where they are the entries themselves.
    """

    linear: Linear
    scale: np.ndarray
    share: float
    spread: np.ndarray | None

    def inputs(self, past: Sequences) -> np.ndarray:
        """The values that the net sees, `(samples, numbers)`."""
        values = past.values
        if self.spread is not None:
            known = filled_forward(past)
            values = (known[:, :-1] - known[:, -1:]) / self.spread
        return values.reshape(len(values), -1)

    def forecast(self, past: Sequences, net: np.ndarray, steps: np.ndarray) -> np.ndarray:
        """Scaled forecasts: at whole steps what was fitted, between them on straight lines.

        **Arguments:** `past`, scaled; `net`, its outputs `(samples, moments, features)`; `steps`,
        when, in steps after the last entry, `(samples, moments)`.
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
    """Values `(samples, places, features)` at moments `(samples, moments)` between the places 0, 1, …"""
    low = np.clip(np.floor(steps + 1e-9).astype(int), 0, values.shape[1] - 2)
    share = np.clip(steps - low, 0.0, 1.0)[:, :, None]
    first = np.take_along_axis(values, low[:, :, None], axis=1)
    return first + share * (np.take_along_axis(values, low[:, :, None] + 1, axis=1) - first)


def spread_of(past: Sequences) -> np.ndarray:
    """The root mean square of differences to the last entry, by feature."""
    known = filled_forward(past)
    return np.sqrt(np.mean((known[:, :-1] - known[:, -1:]) ** 2, axis=(0, 1))) + SMALLEST


def residual_scale(residuals: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """The root mean square of what was observed, `(horizon, features)`; that of all steps where it is
    nothing."""
    count = observed.sum(axis=0)
    squares = np.sum(residuals**2 * observed, axis=0)
    overall = squares.sum(axis=0) / np.maximum(count.sum(axis=0), 1)
    return np.sqrt(np.where(count > 0, squares / np.maximum(count, 1), overall)) + SMALLEST


def share_of(residuals: np.ndarray, net: np.ndarray, observed: np.ndarray) -> float:
    """How much of the net to add: the smaller of what two halves of the held-out windows ask for.

    A share that only one half supports is chance.
    """
    shares = []
    for half in np.array_split(np.arange(len(net)), 2):
        seen = observed[half]
        squares = np.sum(net[half] ** 2 * seen)
        shares.append(np.sum(residuals[half] * net[half] * seen) / max(squares, SMALLEST**2))
    return float(np.clip(min(shares), 0.0, 1.0))


class Shown(NamedTuple):
    """A net with data, in its own units: its inputs and targets, the times of these, and the way
    from its outputs to forecasts."""

    inputs: np.ndarray
    times: np.ndarray
    targets: np.ndarray
    unscale: Callable[[Any], np.ndarray]


def shown(estimator: Any, past: np.ndarray, future: np.ndarray) -> Shown:
    """The net of a forecaster with the first steps of a forecast, for pictures of it."""
    checked, _ = estimator._checked_past(past, None, None)
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


class Spans(NamedTuple):
    """How far the truth lay from forecasts on held-out windows: conformal quantiles by step and feature.

    **Arguments:** `quantiles`, `(levels, horizon, features)`, of coverages in even steps from 0 to
    1; `count`, the number of windows.
    """

    quantiles: np.ndarray
    count: int

    @classmethod
    def of(cls, errors: np.ndarray, observed: np.ndarray) -> "Spans":
        """The quantiles of errors `(windows, horizon, features)`, with the correction for their
        number: the truth of the next window is as likely to fall between any two of them."""
        levels = np.linspace(0, 1, LEVELS + 1)
        found = np.empty((len(levels), *errors.shape[1:]))
        for h, f in np.ndindex(*errors.shape[1:]):
            some = np.sort(np.abs(errors[:, h, f][observed[:, h, f]]))
            if len(some) == 0:
                found[:, h, f] = np.nan
                continue
            rank = np.ceil(levels * (len(some) + 1)).astype(int) - 1
            found[:, h, f] = some[np.clip(rank, 0, len(some) - 1)]
        return cls(found, len(errors))

    def at(self, coverage: float, steps: np.ndarray) -> np.ndarray:
        """Half the width of the interval at moments `(samples, moments)`, in steps."""
        place = coverage * LEVELS
        low = min(int(np.floor(place)), LEVELS - 1)
        half = self.quantiles[low] + (place - low) * (self.quantiles[low + 1] - self.quantiles[low])
        half = np.concatenate([np.zeros_like(half[:1]), half])
        return between(np.broadcast_to(half, (len(steps), *half.shape)), steps)

    def to_json(self) -> dict[str, Any]:
        return {"quantiles": self.quantiles.tolist(), "count": self.count}

    @classmethod
    def from_json(cls, tree: dict[str, Any]) -> "Spans":
        return cls(np.array(tree["quantiles"], np.float64), int(tree["count"]))


def checked_coverage(coverage: Any) -> float:
    """A probability as a user gave it."""
    if not 0 < checks.positive_number(coverage, "coverage") < 1:
        raise ValueError(f"coverage must lie between 0 and 1, got {coverage}.")
    return float(coverage)
