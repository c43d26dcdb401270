"""Epochs of training as one compiled program."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax.measures import penalty
from shootax.train.losses import Loss
from shootax.train.samples import AbstractSampler, Data, drawn
from shootax.train.schedules import AbstractSchedule


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that shapes the program of an epoch.

    `whole` says that the optimizer treats every number alike, so that it may see all parameters as
    one vector.
    """

    loss: Loss
    optimizer: optax.GradientTransformation
    whole: bool
    schedule: AbstractSchedule
    batch_size: int
    shared_times: tuple[float, ...] | None
    clipped: bool
    scaled: bool


class Settings(NamedTuple):
    """Numbers that may change without a new program; `thaw` is the first epoch of every parameter,
    `units` what it is measured in."""

    learning_rate: Any
    data_weight: Any
    penalty_weight: Any
    clip: Any
    epochs: Any
    thaw: Any
    units: Any


class Best(NamedTuple):
    """The parameters with the smallest validation loss so far, and that loss."""

    loss: Float[Array, ""]
    parameters: Float[Array, " parameters"]


class Progress(NamedTuple):
    """What training carries from epoch to epoch. The parameters are one vector: with small models
    the time goes into the number of operations, not into arithmetic."""

    parameters: Float[Array, " parameters"]
    optimizer: PyTree
    schedule: PyTree
    key: PRNGKeyArray
    epoch: Array
    alive: Array
    best: Best | None = None


class Report(NamedTuple):
    """What an epoch says of itself; the first three have an entry for each batch."""

    objective: Array
    data: Array
    penalty: Array
    validation: Array
    learning_rate: Array
    finite: Array


class Frame(NamedTuple):
    """A model without its parameters, and how to make these of a vector."""

    static: Any
    unravel: Callable[[Array], Any]

    def model(self, vector: Array) -> Any:
        return eqx.combine(self.unravel(vector), self.static)


def take_apart(model: Any) -> tuple[Float[Array, " parameters"], Frame]:
    """The parameters of a model as one vector, and the rest."""
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    vector, unravel = ravel_pytree(parameters)
    return vector, Frame(static, unravel)


def start(
    vector: Array, frame: Frame, recipe: Recipe, key: PRNGKeyArray, keep_best: bool = False
) -> Progress:
    """Training before its first epoch."""
    seen = vector if recipe.whole else frame.unravel(vector)
    return Progress(
        vector,
        recipe.optimizer.init(seen),
        recipe.schedule.init(),
        key,
        jnp.zeros((), int),
        jnp.ones((), bool),
        Best(jnp.full((), jnp.inf, vector.dtype), vector) if keep_best else None,
    )


def run_epoch(
    progress: Progress,
    frame: Frame,
    data: Data | AbstractSampler,
    validation: Data | None,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Report]:
    """All batches of an epoch, in a fresh random order, and the validation loss after them.

    A part that is frozen gets no updates, while its moments are gathered, so that it starts with a
    sensible step when it thaws.
    """
    key, order_key = jax.random.split(progress.key)
    if isinstance(data, AbstractSampler):
        data = drawn(data, jax.random.fold_in(order_key, 1))
    rows = data.weight.shape[0]
    batches = -(-rows // recipe.batch_size)
    order = jax.random.permutation(order_key, rows)
    # The last batch is filled up with rows of weight zero.
    missing = batches * recipe.batch_size - rows
    chosen = jnp.concatenate([order, order[:missing]]).reshape(batches, recipe.batch_size)
    used = (jnp.arange(chosen.size) < rows).reshape(chosen.shape)
    thawed = (progress.epoch.astype(settings.thaw.dtype) >= settings.thaw).astype(
        progress.parameters.dtype
    )
    step_size = thawed * settings.units if recipe.scaled else thawed

    def step(carry: tuple, xs: tuple) -> tuple[tuple, tuple]:
        parameters, optimizer = carry
        number, index, real = xs
        batch = jax.tree.map(lambda leaf: leaf[index], data)
        batch = batch._replace(weight=batch.weight * real.astype(batch.weight.dtype))

        def objective(vector: Array) -> tuple[Array, tuple[Array, Array]]:
            model = frame.model(vector)
            misfit, cost = data_loss(model, batch, recipe), penalty(model)
            return settings.data_weight * misfit + settings.penalty_weight * cost, (misfit, cost)

        (total, parts), gradient = jax.value_and_grad(objective, has_aux=True)(parameters)
        if recipe.scaled:
            gradient = gradient * settings.units
        if recipe.clipped:
            size = jnp.sqrt(jnp.sum(gradient**2))
            shrink = jnp.minimum(1.0, settings.clip / jnp.maximum(size, 1e-30))
            gradient = gradient * shrink.astype(gradient.dtype)
        updates, optimizer = _updates(gradient, optimizer, parameters, frame, recipe)
        passed = (progress.epoch * batches + number).astype(total.dtype)
        done = passed / (settings.epochs * batches).astype(total.dtype)
        rate = settings.learning_rate * recipe.schedule.factor(progress.schedule, done)
        moved = parameters - rate.astype(updates.dtype) * (updates * step_size)
        return (moved, optimizer), (total, *parts, rate)

    (parameters, optimizer), (totals, misfits, costs, rates) = jax.lax.scan(
        step, (progress.parameters, progress.optimizer), (jnp.arange(batches), chosen, used)
    )
    held_out, seen = jnp.full((), jnp.nan), jnp.mean(totals)
    if validation is not None:
        model = frame.model(parameters)
        held_out = data_loss(model, validation, recipe)
        seen = settings.data_weight * held_out + settings.penalty_weight * penalty(model)
    schedule = recipe.schedule.observe(progress.schedule, seen)
    finite = jnp.all(jnp.isfinite(parameters))
    report = Report(totals, misfits, costs, held_out, rates[-1], finite)
    best = progress.best
    if best is not None:
        better = held_out < best.loss
        loss = jnp.where(better, held_out.astype(best.loss.dtype), best.loss)
        best = Best(loss, jnp.where(better, parameters, best.parameters))
    after = Progress(parameters, optimizer, schedule, key, progress.epoch + 1, progress.alive, best)
    return after, report


def _updates(
    gradient: Array, optimizer: Any, parameters: Array, frame: Frame, recipe: Recipe
) -> tuple[Any, Any]:
    """The optimizer's answer as a vector, whether it saw one or the arrays of the model."""
    if recipe.whole:
        return recipe.optimizer.update(gradient, optimizer, parameters)
    trees = frame.unravel(gradient), optimizer, frame.unravel(parameters)
    updates, optimizer = recipe.optimizer.update(*trees)
    return ravel_pytree(updates)[0], optimizer


def data_loss(model: Any, data: Data, recipe: Recipe) -> Float[Array, ""]:
    """The mean loss over the rows, by their weights."""
    times = recipe.shared_times if data.times is None else data.times
    predictions = model(data.x) if times is None else model(data.x, times)
    losses = jax.vmap(recipe.loss)(predictions, data.y)
    return jnp.sum(losses * data.weight) / jnp.maximum(jnp.sum(data.weight), 1e-12)
