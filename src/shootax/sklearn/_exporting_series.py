"""Export a fitted forecaster as one program, from the last entries of a sequence to the next ones."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from shootax.export import Whole
from shootax.sklearn._between import Between


def forecasts(estimator: Any) -> Whole:
    """A forecaster with its scaling: the last `history_` entries in, `horizon` steps ahead out."""
    length, features = estimator.history_, estimator.n_features_in_
    step, span, base = estimator.step_, estimator.span_, estimator._base
    ahead = step * np.arange(1, estimator.horizon + 1)
    if ahead[-1] > span * (1 + 1e-9):
        raise ValueError(
            f"A forecast of {estimator.horizon} steps of {step:g} goes beyond the longest learned "
            f"time, {span:g}, so it restarts on the way, which cannot be exported. Fit with even "
            "times, or export a net that you trained yourself."
        )
    uneven = estimator._uneven and length > 1
    mean, spread = (np.asarray(part, np.float64)[None, None] for part in estimator._x)
    varies = spread > 0

    def scaled(x: Any) -> tuple[Float[Array, "samples history features"], Bool[Array, "..."]]:
        values = x["values"] if uneven else x
        lost = jnp.isnan(values)
        moved = (values - mean) / np.where(varies, spread, 1.0)
        return jnp.where(lost, 0.0, moved * varies.astype(np.float64)), lost

    def known(x: Any) -> Float[Array, "samples history features"]:
        values, lost = scaled(x)
        return _filled_forward(values, lost) if estimator._missing else values

    def prepare(x: Any) -> Any:
        values, lost = scaled(x)
        count = values.shape[0]
        seen = jnp.logical_not(lost).astype(np.float64)
        if base is not None and base.spread is not None:
            entries = known(x)
            values = (entries[:, :-1] - entries[:, -1:]) / base.spread[None, None]
        parts = [values.reshape(count, values.shape[1] * features)]
        if estimator._missing:
            parts.append(seen.reshape(count, length * features))
        if uneven:
            parts.append((x["times"][:, 1:] - x["times"][:, :-1]) / step - 1)
        return jnp.concatenate(parts, axis=1)

    def finish(y: Any) -> Any:
        if base is not None:  # the autoregression contains the mean
            return y * (base.share * base.scale[None]) * spread
        return y * spread + mean

    def autoregression(x: Any) -> Any:
        size = length * features
        weight = base.linear.weight.reshape(-1, size).T
        entries = known(x)
        values = entries.reshape(entries.shape[0], size) @ weight
        shape = (entries.shape[0], *base.linear.bias.shape)
        return (values.reshape(shape) + base.linear.bias[None]) * spread + mean

    def sample(rng: np.random.Generator, samples: int) -> Any:
        values = mean + spread * rng.uniform(-1.7, 1.7, (samples, length, features))
        if estimator._missing:
            values[rng.random(values.shape) < 0.2] = np.nan
        times = np.cumsum(step * rng.uniform(0.5, 1.5, (samples, length)), axis=1)
        return {"values": values, "times": times} if uneven else values

    def reference(x: Any) -> np.ndarray:
        if uneven:
            return estimator.predict(x["values"], times=x["times"])
        return estimator.predict(x)

    moments = np.clip(ahead / span, 0.0, 1.0)
    shape = {"values": (length, features), "times": (length,)} if uneven else (length, features)
    about = {
        "estimator": type(estimator).__name__,
        "inputs": {"history": length, "features": features, "step": step, "times": uneven},
        "outputs": {"kind": "forecasts", "horizon": estimator.horizon, "after": ahead.tolist()},
    }
    net = Between(estimator.net_, moments)
    beside = None if base is None else autoregression
    return Whole(net, shape, prepare, finish, about, sample, reference, beside)


def _filled_forward(
    values: Float[Array, "samples history features"], lost: Bool[Array, "samples history features"]
) -> Float[Array, "samples history features"]:
    """The traced form of `windows.filled_forward`. Lost entries are zero, so a past with only lost
    entries is zero."""
    entries = [values[:, 0]]
    for i in range(1, values.shape[1]):
        entries.append(jnp.where(lost[:, i], entries[-1], values[:, i]))
    # From the end to the start: entries before the first known one become equal to it.
    missing = [lost[:, 0]]
    for i in range(1, values.shape[1]):
        missing.append(jnp.logical_and(missing[-1], lost[:, i]))
    for i in range(values.shape[1] - 2, -1, -1):
        entries[i] = jnp.where(missing[i], entries[i + 1], entries[i])
    return jnp.stack(entries, axis=1)
