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
from shootax.train.epoch import Recipe, Report, Settings, compiled_epoch, start
from shootax.train.freezing import thaw_epochs
from shootax.train.losses import Loss, loss_function
from shootax.train.samples import as_floats, prepare
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
    data, held_out, shared = prepare(x, y, weights, times, validation, seed)
    if validation is not None and np.ndim(times) == 2 and not isinstance(validation, float):
        raise ValueError("With times for each sample, give the validation split as a fraction.")
    if np.ndim(times) == 2:  # Inside an epoch times are traced, so the model looks at them here.
        eqx.filter_eval_shape(lambda x: net(x, times), jax.tree.map(as_floats, x))
    recipe = Recipe(
        loss=loss_function(loss),
        optimizer=_ADAM if optimizer is None else optimizer,
        schedule=schedule,
        batch_size=min(checks.positive_integer(batch_size, "batch_size"), len(data.weight)),
        shared_times=shared,
        clipped=clip is not None,
    )
    settings = Settings(
        learning_rate=checks.positive_number(learning_rate, "learning_rate"),
        data_weight=checks.non_negative_number(data_weight, "data_weight"),
        penalty_weight=checks.non_negative_number(penalty_weight, "penalty_weight"),
        clip=checks.positive_number(1.0 if clip is None else clip, "clip"),
        epochs=epochs,
        thaw=thaw_epochs(net, freeze),
    )
    settings = jax.tree.map(lambda value: jnp.asarray(value, jnp.result_type(float)), settings)
    _, static = eqx.partition(net, eqx.is_inexact_array)
    state = start(net, recipe, jax.random.key(seed))
    history = _History()
    began = time.perf_counter()
    with progress_bar("Training", epochs, progress) as show:
        for epoch in range(1, epochs + 1):
            new, report = compiled_epoch(state, static, data, held_out, settings, recipe)
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
