"""Training and evaluation of nets for tables, in few compiled programs.

Tables are padded with zeros to the next of a few sizes, so that tables of similar size, such as the
folds of a cross-validation, share one program. Padding has no effect: padded samples have weight zero,
and the weights of padded columns are removed after training.
"""

import warnings
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import shootax as sx
from shootax.extend import Loss, keeping_programs
from shootax.sklearn._tables import Samples, filled, power_of_two

EMA = 0.98
"""Without averaging, early stopping would pick a noisy iterate."""

LARGEST = float(np.sqrt(np.finfo(np.float32).max))

LEAST_SAMPLES, LEAST_HELD_OUT, LEAST_COLUMNS = 256, 64, 32


class Options(NamedTuple):
    """The settings of a training. No number among them needs a new program, except the batch size."""

    epochs: int
    batch_size: int
    learning_rate: float
    penalty_weight: float
    weight_decay: float
    patience: int | None
    seed: int
    verbose: bool = False
    mesh: Any = None


def train(
    net: sx.Net, samples: Samples, held_out: Samples | None, loss: str | Loss, options: Options
) -> sx.FitResult:
    """Train for all epochs, or with early stopping if `options.patience` is given.

    Early stopping ends the training when the loss on the held-out samples has not fallen for a number
    of epochs, and keeps the best net. If nothing is held out, it uses the loss on the training samples.
    A training that diverges is repeated with a smaller learning rate.
    """
    columns = net.lift.weight.shape[1]  # pyright: ignore
    wide = _widened(net)
    watched = _widened_samples(samples if held_out is None else held_out, LEAST_HELD_OUT)
    # One sample more than needed, so that there is always padding: programs with and without differ.
    samples = _widened_samples(samples, power_of_two(len(samples.x) + 1, LEAST_SAMPLES))
    settings: dict[str, Any] = {
        "epochs": options.epochs,
        "batch_size": options.batch_size,
        "loss": loss,
        "data_strength": 1.0,
        "penalty_strength": options.penalty_weight,
        "validation": _validation(watched, options.patience),
        "sample_weight": samples.weight,
        "times": samples.times,
        "seed": options.seed,
        "progress": None if options.verbose else False,
        "mesh": options.mesh,
    }
    rate = options.learning_rate
    for attempt in range(ATTEMPTS):
        try:
            optimizer = _optimizer(rate, options.weight_decay)
            fitted = sx.fit(wide, samples.x, samples.y, optimizer=optimizer, **settings)
            break
        except sx.DivergedError as error:
            if attempt == ATTEMPTS - 1:
                if len(error.result.history["objective"]) == 0:
                    raise
                warnings.warn(f"{error} The estimator uses the last good model.", stacklevel=4)
                fitted = error.result
                break
            rate /= 10
    return fitted._replace(net=_cut(fitted.net, columns))


ATTEMPTS = 3


def _optimizer(learning_rate: float, weight_decay: float) -> sx.Optimizer:
    decay = {name: weight_decay for name in ("lift.weight", "readout.weight")}
    return sx.Optimizer(learning_rate, clip=10.0, ema=EMA, weight_decay=decay)


def _validation(samples: Samples, patience: int | None) -> sx.Validation | None:
    if patience is None:
        return None
    times = () if samples.times is None else (samples.times,)
    return sx.Validation((samples.x, samples.y, samples.weight, *times), patience=patience)


@keeping_programs
def outputs(net: sx.Net, x: np.ndarray, times: np.ndarray | None = None) -> np.ndarray:
    """Compute the outputs for all samples in double precision, at the end or at each sample's times.

    Raise a `ValueError` if an input is too large to compute with, and warn of outputs that are not
    finite.
    """
    far = first_too_large(x)
    if far is not None:
        raise ValueError(
            f"X has a value that is too large in row {far[0] + 1}, column {far[1] + 1}: it is "
            f"{abs(x[far]):.1e} standard deviations from the mean of the training data. Correct it, "
            "or leave out the sample."
        )
    wide = _widened(net)
    x = filled(x, wide.lift.weight.shape[1], axis=1)  # pyright: ignore
    chunk = LEAST_SAMPLES if len(x) <= 4 * LEAST_SAMPLES else 16 * LEAST_SAMPLES
    parts = []
    for start in range(0, len(x), chunk):
        some = slice(start, start + chunk)
        now = jnp.asarray(filled(x[some], chunk), jnp.result_type(float))
        when = times if times is None else jnp.asarray(filled(times[some], chunk), now.dtype)
        parts.append(np.asarray(_apply(wide, now, when), np.float64)[: len(x[some])])
    return finite(np.concatenate(parts))


def first_too_large(x: np.ndarray) -> tuple[int, int] | None:
    """Find the row and column of the first scaled input whose square overflows in single precision.

    **Arguments:** `x`: scaled inputs, `(samples, columns)`.
    """
    where = np.argwhere(np.abs(x) > LARGEST)
    return (int(where[0, 0]), int(where[0, 1])) if len(where) else None


def finite(predictions: np.ndarray) -> np.ndarray:
    """Return the predictions unchanged, and warn if any is not finite."""
    lost = np.any(~np.isfinite(predictions.reshape(len(predictions), -1)), axis=1)
    if lost.any():
        warnings.warn(
            f"{int(lost.sum())} of {len(predictions)} predictions are not finite, the first in row "
            f"{int(np.argmax(lost)) + 1}: the network overflows. Do not use these predictions.",
            stacklevel=4,
        )
    return predictions


@eqx.filter_jit
def _apply(net: sx.Net, x: Array, times: Array | None) -> Array:
    return net(x, times)


@eqx.filter_jit
def _measure(net: sx.Net) -> tuple[Array, Array]:
    return sx.penalty(net), sx.complexity(net)


@keeping_programs
def measures(net: sx.Net) -> tuple[float, float]:
    """Compute the penalty and the complexity."""
    penalty, complexity = _measure(_widened(net))
    return float(penalty), float(complexity)


def _widened(net: sx.Net) -> sx.Net:
    weight = np.asarray(net.lift.weight)  # pyright: ignore
    size = power_of_two(weight.shape[1], LEAST_COLUMNS)
    return _with_lift(net, filled(weight, size, axis=1))


def _cut(net: sx.Net, columns: int) -> sx.Net:
    return _with_lift(net, np.asarray(net.lift.weight)[:, :columns])  # pyright: ignore


def _with_lift(net: sx.Net, weight: np.ndarray) -> sx.Net:
    return eqx.tree_at(lambda n: n.lift.weight, net, jnp.asarray(weight))


def _widened_samples(samples: Samples, least: int) -> Samples:
    columns = power_of_two(samples.x.shape[1], LEAST_COLUMNS)
    return samples.filled(power_of_two(len(samples.x), least), columns)
