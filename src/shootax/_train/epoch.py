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

from shootax._measures import penalty
from shootax._train.losses import Loss
from shootax._train.samples import AbstractSampler, Data, drawn
from shootax._train.schedules import AbstractSchedule
from shootax._train.stopping import Best, observe, unknown


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that shapes the program of an epoch.

    `own` says that the optimizer is the user's: it sees the arrays of the model, and its updates are
    used as they are. The library's Adam treats every number alike, so that it may see all parameters
    as one vector.
    """

    loss: Loss
    optimizer: optax.GradientTransformation
    own: bool
    schedule: AbstractSchedule
    batch_size: int
    shared_times: tuple[float, ...] | None
    clipped: bool
    scaled: bool
    decayed: bool
    averaged: bool  # whether the model is the average of those along the way
    stopping: bool  # whether the best parameters are kept
    gaps: bool  # whether there are rows of weight zero, which are left out


class Settings(NamedTuple):
    """Numbers that may change without a new program.

    `thaw` is the first epoch of every parameter, `units` what it is measured in, `decay` what it
    loses of itself in a step of rate one. `averaging` is what the average keeps of itself in a step.
    `patience` is in epochs.
    """

    learning_rate: Any
    data_weight: Any
    penalty_weight: Any
    clip: Any
    epochs: Any
    thaw: Any
    units: Any
    decay: Any
    averaging: Any
    patience: Any


class Progress(NamedTuple):
    """What training carries from epoch to epoch. The parameters are one vector: with small models
    the time goes into the number of operations, not into arithmetic."""

    parameters: Float[Array, " parameters"]
    optimizer: PyTree
    schedule: PyTree
    key: PRNGKeyArray
    epoch: Array
    alive: Array
    average: Float[Array, " parameters"] | None
    best: Best | None

    @property
    def model(self) -> Array:
        """The parameters to return, of one net or of many."""
        if self.best is not None:
            return self.best.parameters
        return self.parameters if self.average is None else self.average


class Report(NamedTuple):
    """What an epoch says of itself; the first three have an entry for each batch."""

    objective: Array
    data: Array
    penalty: Array
    validation: Array
    learning_rate: Array
    finite: Array
    waited: Array | None


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


def start(vector: Array, frame: Frame, recipe: Recipe, key: PRNGKeyArray) -> Progress:
    """Training before its first epoch."""
    seen = frame.unravel(vector) if recipe.own else vector
    return Progress(
        vector,
        recipe.optimizer.init(seen),
        recipe.schedule.init(),
        key,
        jnp.zeros((), int),
        jnp.ones((), bool),
        vector if recipe.averaged else None,
        unknown(vector) if recipe.stopping else None,
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
    sensible step when it thaws. Rows of weight zero come last, and batches of such rows alone are
    passed over.
    """
    key, order_key = jax.random.split(progress.key)
    if isinstance(data, AbstractSampler):
        data = drawn(data, jax.random.fold_in(order_key, 1))
    rows = data.weight.shape[0]
    batches = -(-rows // recipe.batch_size)
    order = jax.random.permutation(order_key, rows)
    filled = jnp.ones(batches, bool)
    if recipe.gaps:
        order, real_rows = _real_first(order, data.weight)
        filled = jnp.arange(batches) * recipe.batch_size < real_rows
    # The last batch is filled up with rows of weight zero.
    missing = batches * recipe.batch_size - rows
    chosen = jnp.concatenate([order, order[:missing]]).reshape(batches, recipe.batch_size)
    used = (jnp.arange(chosen.size) < rows).reshape(chosen.shape)
    thawed = (progress.epoch.astype(settings.thaw.dtype) >= settings.thaw).astype(
        progress.parameters.dtype
    )
    step_size = thawed * settings.units if recipe.scaled else thawed

    def step(carry: tuple, xs: tuple) -> tuple[tuple, tuple]:
        parameters, optimizer, average = carry
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
        if recipe.decayed:
            updates = updates + settings.decay.astype(updates.dtype) * parameters
        passed = (progress.epoch * batches + number).astype(total.dtype)
        done = passed / (settings.epochs * batches).astype(total.dtype)
        rate = settings.learning_rate * recipe.schedule.factor(progress.schedule, done)
        if recipe.own:
            moved = parameters + updates.astype(parameters.dtype) * step_size
        else:
            moved = parameters - rate.astype(updates.dtype) * (updates * step_size)
        if average is not None:
            # Of few steps it keeps less, or the start would count for long.
            keeps = jnp.minimum(settings.averaging, (1 + passed) / (10 + passed))
            average = moved + keeps.astype(moved.dtype) * (average - moved)
        return (moved, optimizer, average), (total, *parts, rate)

    def step_if_filled(carry: tuple, xs: tuple) -> tuple[tuple, tuple]:
        nothing = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(step, carry, xs[1:])[1]
        )
        return jax.lax.cond(xs[0], step, lambda carry, _: (carry, nothing), carry, xs[1:])

    xs = (jnp.arange(batches), chosen, used)
    carry = (progress.parameters, progress.optimizer, progress.average)
    if recipe.gaps:
        carry, reports = jax.lax.scan(step_if_filled, carry, (filled, *xs))
        reports = [_over(filled, report) for report in reports]
    else:
        carry, reports = jax.lax.scan(step, carry, xs)
    parameters, optimizer, average = carry
    totals, misfits, costs, rates = reports
    found = parameters if average is None else average
    held_out, seen = jnp.full((), jnp.nan), jnp.mean(totals)
    if validation is not None:
        model = frame.model(found)
        held_out = data_loss(model, validation, recipe)
        seen = settings.data_weight * held_out + settings.penalty_weight * penalty(model)
    schedule = recipe.schedule.observe(progress.schedule, seen)
    finite = jnp.all(jnp.isfinite(parameters))
    judged = seen if validation is None else held_out
    best = None if progress.best is None else observe(progress.best, found, judged)
    waited = None if best is None else best.waited
    report = Report(totals, misfits, costs, held_out, rates[-1], finite, waited)
    after = progress._replace(
        parameters=parameters,
        optimizer=optimizer,
        schedule=schedule,
        key=key,
        epoch=progress.epoch + 1,
        average=average,
        best=best,
    )
    return after, report


def _real_first(order: Array, weight: Array) -> tuple[Array, Array]:
    """The rows in the same order, but those of weight zero after all others, and the number of these."""
    real = weight[order] > 0
    number = jnp.sum(real)
    place = jnp.where(real, jnp.cumsum(real) - 1, number + jnp.cumsum(~real) - 1)
    return jnp.zeros_like(order).at[place].set(order), number


def _over(filled: Array, values: Array) -> Array:
    """Batches that were passed over report the mean of the others."""
    mean = jnp.sum(values, where=filled) / jnp.sum(filled).astype(values.dtype)
    return jnp.where(filled, values, mean)


def _updates(
    gradient: Array, optimizer: Any, parameters: Array, frame: Frame, recipe: Recipe
) -> tuple[Array, Any]:
    """The optimizer's answer as a vector, whether it saw one or the arrays of the model."""
    if not recipe.own:
        updates, optimizer = recipe.optimizer.update(gradient, optimizer, parameters)
        return jnp.asarray(updates), optimizer
    trees = frame.unravel(gradient), optimizer, frame.unravel(parameters)
    updates, optimizer = recipe.optimizer.update(*trees)
    return ravel_pytree(updates)[0], optimizer


def data_loss(model: Any, data: Data, recipe: Recipe) -> Float[Array, ""]:
    """The mean loss over the rows, by their weights."""
    times = recipe.shared_times if data.times is None else data.times
    predictions = model(data.x) if times is None else model(data.x, times)
    losses = jax.vmap(recipe.loss)(predictions, data.y)
    return jnp.sum(losses * data.weight) / jnp.maximum(jnp.sum(data.weight), 1e-12)
