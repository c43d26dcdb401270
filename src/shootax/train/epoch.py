"""One epoch of training as one compiled program."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax.measures import penalty
from shootax.train.losses import Loss
from shootax.train.samples import Data
from shootax.train.schedules import AbstractSchedule
from shootax.train.stopping import Best, observe, unknown


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that shapes the program of an epoch."""

    loss: Loss
    optimizer: optax.GradientTransformation
    schedule: AbstractSchedule
    batch_size: int
    shared_times: tuple[float, ...] | None
    clipped: bool
    stopping: bool = False  # whether the best parameters are kept
    gaps: bool = False  # whether there are rows of weight zero, which are left out


class Settings(NamedTuple):
    """Numbers that may change without a new program.

    `thaw` is the first epoch of every parameter, `decay` what it loses of itself in a step.
    """

    learning_rate: Any
    data_weight: Any
    penalty_weight: Any
    clip: Any
    epochs: Any
    thaw: PyTree
    decay: PyTree | None = None


class Progress(NamedTuple):
    """What training carries from epoch to epoch."""

    parameters: PyTree
    optimizer: PyTree
    schedule: PyTree
    key: PRNGKeyArray
    epoch: Array
    best: Best | None


class Report(NamedTuple):
    """What an epoch says of itself; the first three have an entry for each batch."""

    objective: Array
    data: Array
    penalty: Array
    validation: Array
    learning_rate: Array
    finite: Array
    waited: Array | None


def start(model: Any, recipe: Recipe, key: PRNGKeyArray) -> Progress:
    """Training before its first epoch."""
    parameters = eqx.filter(model, eqx.is_inexact_array)
    return Progress(
        parameters,
        recipe.optimizer.init(parameters),
        recipe.schedule.init(),
        key,
        jnp.zeros((), int),
        unknown(parameters) if recipe.stopping else None,
    )


def run_epoch(
    progress: Progress,
    static: Any,
    data: Data,
    validation: Data | None,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Report]:
    """All batches of an epoch, in a fresh random order, and the validation loss after them.

    `static` is the model without its parameters. A part that is frozen gets no updates, while its
    moments are gathered, so that it starts with a sensible step when it thaws. Rows of weight zero
    come last, and batches of such rows alone are passed over.
    """
    rows = data.weight.shape[0]
    batches = -(-rows // recipe.batch_size)
    key, order_key = jax.random.split(progress.key)
    order = jax.random.permutation(order_key, rows)
    filled = jnp.ones(batches, bool)
    if recipe.gaps:
        order, real_rows = _real_first(order, data.weight)
        filled = jnp.arange(batches) * recipe.batch_size < real_rows
    # The last batch is filled up with rows of weight zero.
    missing = batches * recipe.batch_size - rows
    chosen = jnp.concatenate([order, order[:missing]]).reshape(batches, recipe.batch_size)
    used = (jnp.arange(chosen.size) < rows).reshape(chosen.shape)

    def step(carry: tuple, xs: tuple) -> tuple[tuple, tuple]:
        parameters, optimizer = carry
        number, index, real = xs
        batch = jax.tree.map(lambda leaf: leaf[index], data)
        batch = batch._replace(weight=batch.weight * real.astype(batch.weight.dtype))

        def objective(parameters: PyTree) -> tuple[Array, tuple[Array, Array]]:
            model = eqx.combine(parameters, static)
            misfit, cost = data_loss(model, batch, recipe), penalty(model)
            return settings.data_weight * misfit + settings.penalty_weight * cost, (misfit, cost)

        (total, parts), gradient = jax.value_and_grad(objective, has_aux=True)(parameters)
        if recipe.clipped:
            size = optax.tree.norm(gradient)
            shrink = jnp.minimum(1.0, settings.clip / jnp.maximum(size, 1e-30))
            gradient = jax.tree.map(lambda leaf: leaf * shrink.astype(leaf.dtype), gradient)
        updates, optimizer = recipe.optimizer.update(gradient, optimizer, parameters)
        if settings.decay is not None:
            updates = jax.tree.map(
                lambda u, decay, leaf: u + decay.astype(u.dtype) * leaf,
                updates,
                settings.decay,
                parameters,
            )
        passed = (progress.epoch * batches + number).astype(total.dtype)
        done = passed / (settings.epochs * batches).astype(total.dtype)
        rate = settings.learning_rate * recipe.schedule.factor(progress.schedule, done)
        moves = jax.tree.map(
            lambda u, thawed: (
                -rate.astype(u.dtype)
                * u
                * (progress.epoch.astype(u.dtype) >= thawed.astype(u.dtype)).astype(u.dtype)
            ),
            updates,
            settings.thaw,
        )
        return (optax.apply_updates(parameters, moves), optimizer), (total, *parts, rate)

    def step_if_filled(carry: tuple, xs: tuple) -> tuple[tuple, tuple]:
        nothing = jax.tree.map(
            lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), jax.eval_shape(step, carry, xs[1:])[1]
        )
        return jax.lax.cond(xs[0], step, lambda carry, _: (carry, nothing), carry, xs[1:])

    xs = (jnp.arange(batches), chosen, used)
    carry = (progress.parameters, progress.optimizer)
    if recipe.gaps:
        (parameters, optimizer), reports = jax.lax.scan(step_if_filled, carry, (filled, *xs))
        reports = [_over(filled, report) for report in reports]
    else:
        (parameters, optimizer), reports = jax.lax.scan(step, carry, xs)
    totals, misfits, costs, rates = reports
    held_out = jnp.full((), jnp.nan)
    if validation is not None:
        held_out = data_loss(eqx.combine(parameters, static), validation, recipe)
    # Without held-out data the schedule looks at the training objective.
    seen = jnp.mean(totals) if validation is None else settings.data_weight * held_out
    schedule = recipe.schedule.observe(progress.schedule, seen)
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(p)) for p in jax.tree.leaves(parameters)]))
    best = None if progress.best is None else observe(progress.best, parameters, seen)
    waited = None if best is None else best.waited
    report = Report(totals, misfits, costs, held_out, rates[-1], finite, waited)
    return Progress(parameters, optimizer, schedule, key, progress.epoch + 1, best), report


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


def data_loss(model: Any, data: Data, recipe: Recipe) -> Float[Array, ""]:
    """The mean loss over the rows, by their weights."""
    times = recipe.shared_times if data.times is None else data.times
    predictions = model(data.x) if times is None else model(data.x, times)
    losses = jax.vmap(recipe.loss)(predictions, data.y)
    return jnp.sum(losses * data.weight) / jnp.maximum(jnp.sum(data.weight), 1e-12)


compiled_epoch = eqx.filter_jit(run_epoch)
compiled_epochs = eqx.filter_jit(
    eqx.filter_vmap(run_epoch, in_axes=(eqx.if_array(0), None, None, None, None, None))
)
