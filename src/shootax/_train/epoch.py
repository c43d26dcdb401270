"""One epoch of training, as part of a compiled program."""

import dataclasses
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax._measures import penalty
from shootax._train.losses import Loss
from shootax._train.samples import AbstractSampler, Data, drawn
from shootax._train.stopping import RUNNING, Best, observe, unknown
from shootax._train.update import Frame, Moving, Numbers, Rule, advance, begin, step_sizes


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that shapes the program of an epoch."""

    loss: Loss
    rule: Rule
    batch_size: int
    shared_times: tuple[float, ...] | None
    keeps_best: bool
    gaps: bool  # whether there are samples of weight zero, which are left out


class Settings(NamedTuple):
    """Numbers that may change without a new program. `patience` is in epochs."""

    numbers: Numbers
    data_strength: Any
    penalty_strength: Any
    epochs: Any
    patience: Any


class Progress(NamedTuple):
    """What training carries from epoch to epoch."""

    moving: Moving
    schedule: PyTree
    key: PRNGKeyArray
    epoch: Array
    status: Array
    best: Best | None

    @property
    def model(self) -> Array:
        """The parameters to return, of one net or of many."""
        return self.moving.model if self.best is None else self.best.parameters


class Report(NamedTuple):
    """The numbers of an epoch; the first three have an entry for each batch.

    `ran` says whether the epoch took place, `status` how it left the training.
    """

    objective: Array
    data: Array
    penalty: Array
    validation: Array
    learning_rate: Array
    ran: Array
    status: Array


def start(vector: Array, frame: Frame, recipe: Recipe, key: PRNGKeyArray) -> Progress:
    """Training before its first epoch."""
    return Progress(
        begin(vector, frame, recipe.rule),
        recipe.rule.schedule.init(),
        key,
        jnp.zeros((), int),
        jnp.full((), RUNNING, int),
        unknown(vector) if recipe.keeps_best else None,
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

    Samples of weight zero come last, and batches of such samples alone are passed over.
    """
    key, order_key = jax.random.split(progress.key)
    if isinstance(data, AbstractSampler):
        data = drawn(data, jax.random.fold_in(order_key, 1))
    samples = data.sample_weight.shape[0]
    batches = -(-samples // recipe.batch_size)
    order = jax.random.permutation(order_key, samples)
    filled = jnp.ones(batches, bool)
    if recipe.gaps:
        order, real_samples = _real_first(order, data.sample_weight)
        filled = jnp.arange(batches) * recipe.batch_size < real_samples
    # The last batch is filled up with samples of weight zero.
    missing = batches * recipe.batch_size - samples
    chosen = jnp.concatenate([order, order[:missing]]).reshape(batches, recipe.batch_size)
    used = (jnp.arange(chosen.size) < samples).reshape(chosen.shape)
    rule, numbers = recipe.rule, settings.numbers
    sizes = step_sizes(progress.epoch, numbers, rule, progress.moving.parameters.dtype)

    def step(moving: Moving, xs: tuple) -> tuple[Moving, tuple]:
        number, index, real = xs
        batch = jax.tree.map(lambda leaf: leaf[index], data)
        weight = batch.sample_weight
        batch = batch._replace(sample_weight=weight * real.astype(weight.dtype))

        def objective(vector: Array) -> tuple[Array, tuple[Array, Array]]:
            model = frame.model(vector)
            misfit, cost = data_loss(model, batch, recipe), penalty(model)
            return weighed(misfit, cost, settings), (misfit, cost)

        passed = (progress.epoch * batches + number).astype(numbers.learning_rate.dtype)
        done = passed / (settings.epochs * batches).astype(passed.dtype)
        rate = numbers.learning_rate * rule.schedule.factor(progress.schedule, done)
        moving, (total, parts) = advance(
            moving, objective, frame, rule, numbers, learning_rate=rate, sizes=sizes, passed=passed
        )
        return moving, (total, *parts, rate)

    def step_if_filled(moving: Moving, xs: tuple) -> tuple[Moving, tuple]:
        nothing = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(step, moving, xs[1:])[1]
        )
        return jax.lax.cond(xs[0], step, lambda moving, _: (moving, nothing), moving, xs[1:])

    xs = (jnp.arange(batches), chosen, used)
    if recipe.gaps:
        moving, reports = jax.lax.scan(step_if_filled, progress.moving, (filled, *xs))
        reports = [_over(filled, report) for report in reports]
    else:
        moving, reports = jax.lax.scan(step, progress.moving, xs)
    totals, misfits, costs, rates = reports
    held_out, seen = jnp.full((), jnp.nan), jnp.mean(totals)
    if validation is not None:
        model = frame.model(moving.model)
        held_out = data_loss(model, validation, recipe)
        seen = weighed(held_out, penalty(model), settings)
    watched = seen if validation is None else held_out
    after = Progress(
        moving=moving,
        schedule=rule.schedule.observe(progress.schedule, seen),
        key=key,
        epoch=progress.epoch + 1,
        status=progress.status,
        best=None if progress.best is None else observe(progress.best, moving.model, watched),
    )
    ran = progress.status == RUNNING
    return after, Report(totals, misfits, costs, held_out, rates[-1], ran, progress.status)


def weighed(misfit: Array, cost: Array, settings: Settings) -> Array:
    """The objective: the data loss and the penalty, each times its strength."""
    return settings.data_strength * misfit + settings.penalty_strength * cost


def data_loss(model: Any, data: Data, recipe: Recipe) -> Float[Array, ""]:
    """The weighted mean of the losses of the samples."""
    times = recipe.shared_times if data.times is None else data.times
    predictions = model(data.x) if times is None else model(data.x, times)
    losses = jax.vmap(recipe.loss)(predictions, data.y)
    return jnp.sum(losses * data.sample_weight) / jnp.maximum(jnp.sum(data.sample_weight), 1e-12)


def _real_first(order: Array, weight: Array) -> tuple[Array, Array]:
    """The same order, but samples of weight zero after all others, and the number of the others."""
    real = weight[order] > 0
    number = jnp.sum(real)
    place = jnp.where(real, jnp.cumsum(real) - 1, number + jnp.cumsum(~real) - 1)
    return jnp.zeros_like(order).at[place].set(order), number


def _over(filled: Array, values: Array) -> Array:
    """Batches that were passed over report the mean of the others."""
    mean = jnp.sum(values, where=filled) / jnp.sum(filled).astype(values.dtype)
    return jnp.where(filled, values, mean)
