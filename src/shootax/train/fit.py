"""Training on arrays, in one call."""

import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, PyTree

from shootax import checks
from shootax.errors import DivergedError
from shootax.train.display import progress_bar
from shootax.train.epoch import Data, Recipe, Report, compiled_epoch, start
from shootax.train.freezing import thaw_epochs
from shootax.train.losses import Loss, loss_function
from shootax.train.schedules import AbstractSchedule, Cosine


class Fit(NamedTuple):
    """A trained model, how training went epoch by epoch, and how long it took."""

    net: Any
    history: dict[str, np.ndarray]
    seconds: float


def fit(
    net: Any,
    x: PyTree[Array],
    y: PyTree[Array],
    *,
    epochs: int = 500,
    batch_size: int = 50,
    learning_rate: float = 0.01,
    schedule: AbstractSchedule = Cosine(),
    loss: str | Loss = "mse",
    data_weight: float = 100.0,
    penalty_weight: float = 1.0,
    freeze: Mapping[str, int | None] | None = None,
    clip: float | None = None,
    validation: float | tuple[PyTree[Array], PyTree[Array]] | None = None,
    times: Any = None,
    weights: Array | None = None,
    optimizer: optax.GradientTransformation | None = None,
    seed: int = 0,
    progress: bool | None = None,
) -> Fit:
    """Minimises `data_weight` · mean loss + `penalty_weight` · $∫R\\, dt$ by Adam.

    Every epoch is one compiled program. The same seed gives the same numbers.

    **Arguments:**

    - `net`: a [`shootax.Net`][], or any `equinox.Module` that maps a batch to a batch and holds one.
    - `x`, `y`: inputs and targets, with samples along the leading axis.
    - `epochs`, `batch_size`, `learning_rate`: as usual.
    - `schedule`: [`shootax.Cosine`][], [`shootax.Plateau`][] or [`shootax.Constant`][]. A plateau is
        one of the validation loss if there is one, else of the objective.
    - `loss`: `"mse"`, `"cross_entropy"` (targets are class numbers), or a function of one prediction
        and one target.
    - `freeze`: names of parts and for how many first epochs they are held still (`None`: always),
        as in `{"positions": 50, "lift": None}`.
    - `clip`: an upper limit for the norm of the gradient.
    - `validation`: a fraction of the samples to hold out, or a pair `(x, y)`.
    - `times`: when the net is asked for trajectories: `(times,)` for all samples, or
        `(samples, times)` for each its own. Targets then have a time axis after the first.
    - `weights`: of the samples, in the mean loss.
    - `optimizer`: instead of Adam, an Optax transformation without a learning rate, for instance
        `optax.scale_by_lion()`.
    - `seed`: of the order of the samples and of the validation split.
    - `progress`: whether to show a progress bar; by default in a terminal.

    **Raises:** [`shootax.DivergedError`][] when the loss is not finite. It says when and why, and
    holds the last good model and the history in its `result`.
    """
    epochs = checks.positive_integer(epochs, "epochs")
    data, held_out, shared = _prepare(x, y, weights, times, validation, seed)
    if validation is not None and np.ndim(times) == 2 and not isinstance(validation, float):
        raise ValueError("With times for each sample, give the validation split as a fraction.")
    if np.ndim(times) == 2:  # Inside an epoch times are traced, so the model looks at them here.
        eqx.filter_eval_shape(lambda x: net(x, times), jax.tree.map(_floats, x))
    parts = [optax.clip_by_global_norm(checks.positive_number(clip, "clip"))] if clip else []
    recipe = Recipe(
        loss=loss_function(loss),
        optimizer=_optimizer(optimizer, *parts),
        schedule=schedule,
        learning_rate=checks.positive_number(learning_rate, "learning_rate"),
        data_weight=checks.non_negative_number(data_weight, "data_weight"),
        penalty_weight=checks.non_negative_number(penalty_weight, "penalty_weight"),
        epochs=epochs,
        batch_size=min(checks.positive_integer(batch_size, "batch_size"), len(data.weight)),
        shared_times=shared,
    )
    thaw = thaw_epochs(net, freeze)
    _, static = eqx.partition(net, eqx.is_inexact_array)
    state = start(net, recipe, jax.random.key(seed))
    history = _History()
    began = time.perf_counter()
    with progress_bar("Training", epochs, progress) as show:
        for epoch in range(1, epochs + 1):
            new, report = compiled_epoch(state, static, data, held_out, thaw, recipe)
            report = jax.device_get(report)
            if not np.isfinite(report.objective).all() or not report.finite:
                good = history.result(eqx.combine(state.parameters, static), began)
                raise DivergedError(_why(epoch, report), good)
            state = new
            history.add(report)
            show(epoch, f"loss {report.objective.mean():.4g}")
    return history.result(eqx.combine(state.parameters, static), began)


class _History:
    def __init__(self) -> None:
        names = ("objective", "data", "penalty", "validation", "learning_rate")
        self.columns: dict[str, list[float]] = {name: [] for name in names}

    def add(self, report: Report) -> None:
        for name, column in self.columns.items():
            column.append(float(np.mean(getattr(report, name))))

    def result(self, net: Any, began: float) -> Fit:
        history = {name: np.array(column) for name, column in self.columns.items()}
        return Fit(net, history, time.perf_counter() - began)


def _optimizer(given, *before) -> optax.GradientTransformation:
    return optax.chain(*before, given or _ADAM) if before else (given or _ADAM)


_ADAM = optax.scale_by_adam()


def _why(epoch: int, report: Report) -> str:
    bad = np.flatnonzero(~np.isfinite(report.objective))
    rate = f"the learning rate was {float(report.learning_rate):.3g}"
    advice = (
        "The last good model is in the `result` of this error. Lower the learning rate, clip the "
        "gradient (clip=10), start from smaller momenta, or scale the data."
    )
    if len(bad) == 0:
        return f"Training diverged in epoch {epoch}: the gradient is not finite; {rate}. {advice}"
    batch = int(bad[0])
    terms = {"data loss": report.data[batch], "penalty": report.penalty[batch]}
    named = [f"the {name} is {float(value):.4g}" for name, value in terms.items()]
    return (
        f"Training diverged in epoch {epoch}, batch {batch + 1} of {len(report.objective)}: "
        f"{' and '.join(named)}; {rate}. {advice}"
    )


def _prepare(
    x: Any, y: Any, weights: Any, times: Any, validation: Any, seed: int
) -> tuple[Data, Data | None, tuple[float, ...] | None]:
    """Checked arrays for training and validation, and times that all rows share."""
    each = np.ndim(times) == 2
    shared = None if times is None or each else tuple(float(t) for t in np.asarray(times))
    data = _data(x, y, weights, times if each else None, "")
    if validation is None:
        return data, None, shared
    if isinstance(validation, tuple):
        x, y = validation
        return data, _data(x, y, None, None, "validation "), shared
    rows = len(data.weight)
    held = round(rows * float(validation))
    if not 0 < validation < 1 or not 0 < held < rows:
        raise ValueError(
            f"validation must be a fraction that leaves samples on both sides, or a pair (x, y); got "
            f"{validation} of {rows} samples."
        )
    order = np.random.default_rng(seed).permutation(rows)
    first, second = np.sort(order[held:]), np.sort(order[:held])
    kept, out = (jax.tree.map(lambda leaf, i=i: leaf[i], data) for i in (first, second))
    return kept, out, shared


def _data(x: Any, y: Any, weights: Any, times: Any, what: str) -> Data:
    x, y = (jax.tree.map(_floats, tree) for tree in (x, y))
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves((x, y))}
    if lengths == {0} or not lengths:
        raise ValueError(f"The {what}data are empty: fit needs at least one sample.")
    if len(lengths) > 1:
        sizes = [tuple(leaf.shape[0] for leaf in jax.tree.leaves(tree)) for tree in (x, y)]
        raise ValueError(
            f"The {what}x and y must have the same number of samples, got {sizes[0]} and {sizes[1]}."
        )
    (rows,) = lengths
    for name, tree in ((f"{what}x", x), (f"{what}y", y)):
        for leaf in jax.tree.leaves(tree):
            checks.finite(leaf, name)
    weight = jnp.ones(rows) if weights is None else _floats(weights)
    if weight.shape != (rows,) or bool(jnp.any(weight < 0)) or not float(jnp.sum(weight)) > 0:
        raise ValueError(
            f"weights must be {rows} numbers of at least 0, not all 0; got shape {weight.shape}."
        )
    if times is not None:
        times = _floats(times)
        if times.shape[0] != rows:
            raise ValueError(
                f"times must have a line for each of {rows} samples, got {times.shape}."
            )
    return Data(x, y, weight, times)


def _floats(values: Any) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise ValueError(f"Data must be numbers, got an array of dtype {array.dtype}.")
    return jnp.asarray(array, jnp.result_type(float))
