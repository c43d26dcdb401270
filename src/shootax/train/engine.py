"""The loop over epochs, for one net or for many at once."""

import time
from collections.abc import Mapping, Sequence
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
from shootax.train.epoch import Recipe, Report, Settings, compiled_epoch, compiled_epochs, start
from shootax.train.freezing import decay_rates, thaw_epochs
from shootax.train.losses import Loss, loss_function
from shootax.train.samples import Data, as_floats, prepare
from shootax.train.schedules import AbstractSchedule, Cosine

ADAM = optax.scale_by_adam()


class Fit(NamedTuple):
    """A trained model, how training went epoch by epoch, and how long it took."""

    net: Any
    history: dict[str, np.ndarray]
    seconds: float


class Problem(NamedTuple):
    """All that a training needs but for the nets and their seeds."""

    data: Data
    validation: Data | None
    settings: Settings
    recipe: Recipe
    epochs: int
    patience: int | None


def make_problem(
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
    validation: Any = None,
    times: Any = None,
    weights: Array | None = None,
    optimizer: optax.GradientTransformation | None = None,
    patience: int | None = None,
    weight_decay: Mapping[str, float] | None = None,
    split_seed: int = 0,
) -> Problem:
    """Checks everything a user handed in. The options are those of [`shootax.fit`][]."""
    epochs = checks.positive_integer(epochs, "epochs")
    if patience is not None:
        patience = checks.positive_integer(patience, "patience")
    data, held_out, shared = prepare(x, y, weights, times, validation, split_seed)
    if np.ndim(times) == 2:
        # Inside an epoch times are traced, so the model looks at them here.
        eqx.filter_eval_shape(lambda x: net(x, times), jax.tree.map(as_floats, x))
    recipe = Recipe(
        loss=loss_function(loss),
        optimizer=ADAM if optimizer is None else optimizer,
        schedule=schedule,
        batch_size=min(checks.positive_integer(batch_size, "batch_size"), len(data.weight)),
        shared_times=shared,
        clipped=clip is not None,
        stopping=patience is not None,
        gaps=bool(np.any(np.asarray(data.weight) == 0)),
    )
    settings = Settings(
        learning_rate=checks.positive_number(learning_rate, "learning_rate"),
        data_weight=checks.non_negative_number(data_weight, "data_weight"),
        penalty_weight=checks.non_negative_number(penalty_weight, "penalty_weight"),
        clip=checks.positive_number(1.0 if clip is None else clip, "clip"),
        epochs=epochs,
        thaw=thaw_epochs(net, freeze),
        decay=decay_rates(net, weight_decay),
    )
    settings = jax.tree.map(lambda value: jnp.asarray(value, jnp.result_type(float)), settings)
    return Problem(data, held_out, settings, recipe, epochs, patience)


def train(
    nets: Sequence[Any], seeds: Sequence[int], problem: Problem, progress: bool | None
) -> list[Fit | DivergedError]:
    """Trains all nets, which differ in their arrays alone, as one program.

    A net whose loss is not finite stops there, with its last good state, and one whose patience is
    over with its best; the others go on.
    """
    _, static = eqx.partition(nets[0], eqx.is_inexact_array)
    states = [
        start(net, problem.recipe, jax.random.key(seed))
        for net, seed in zip(nets, seeds, strict=True)
    ]
    alone = len(nets) == 1
    state = states[0] if alone else jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)
    run = compiled_epoch if alone else compiled_epochs
    histories = [_History() for _ in nets]
    failures: dict[int, str] = {}
    finished: set[int] = set()
    began = time.perf_counter()
    with progress_bar("Training", problem.epochs, progress) as show:
        for epoch in range(1, problem.epochs + 1):
            new, report = run(
                state, static, problem.data, problem.validation, problem.settings, problem.recipe
            )
            report = jax.device_get(report)
            reports = [report] if alone else [_pick(report, i) for i in range(len(nets))]
            for i, each in enumerate(reports):
                if i not in failures and i not in finished:
                    if _is_good(each):
                        histories[i].add(each)
                    else:
                        failures[i] = _why(epoch, each)
            going = np.array([i not in failures and i not in finished for i in range(len(nets))])
            state = new if going.all() else _keep(going, new, state, alone)
            if problem.patience is not None:
                late = np.atleast_1d(report.waited) >= problem.patience
                finished |= {int(i) for i in np.flatnonzero(late & going)}
            if len(failures) + len(finished) == len(nets):
                break
            show(epoch, f"loss {np.mean(report.objective):.4g}")
    outcomes: list[Fit | DivergedError] = []
    for i, history in enumerate(histories):
        chosen = state.parameters if state.best is None else state.best.parameters
        parameters = chosen if alone else _pick(chosen, i)
        result = history.result(eqx.combine(parameters, static), began)
        outcomes.append(DivergedError(failures[i], result) if i in failures else result)
    return outcomes


def _pick(tree: PyTree, i: int) -> Any:
    return jax.tree.map(lambda leaf: leaf[i], tree)


def _is_good(report: Report) -> bool:
    return bool(np.isfinite(report.objective).all() and report.finite)


def _keep(going: np.ndarray, new: PyTree, old: PyTree, alone: bool) -> Any:
    """The new state of the nets that go on, the old one of those that have stopped."""
    if alone:
        return new if going[0] else old

    def one(a: Array, b: Array) -> Array:
        return jnp.where(jnp.asarray(going).reshape(-1, *(1,) * (a.ndim - 1)), a, b)

    return jax.tree.map(one, new, old)


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
