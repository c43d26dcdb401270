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


@dataclasses.dataclass(frozen=True)
class Recipe:
    """All that shapes the program of an epoch."""

    loss: Loss
    optimizer: optax.GradientTransformation
    schedule: AbstractSchedule
    batch_size: int
    shared_times: tuple[float, ...] | None
    clipped: bool


class Settings(NamedTuple):
    """Numbers that may change without a new program; `thaw` is the first epoch of every parameter."""

    learning_rate: Any
    data_weight: Any
    penalty_weight: Any
    clip: Any
    epochs: Any
    thaw: PyTree


class Progress(NamedTuple):
    """What training carries from epoch to epoch."""

    parameters: PyTree
    optimizer: PyTree
    schedule: PyTree
    key: PRNGKeyArray
    epoch: Array


class Report(NamedTuple):
    """What an epoch says of itself; the first three have an entry for each batch."""

    objective: Array
    data: Array
    penalty: Array
    validation: Array
    learning_rate: Array
    finite: Array


def start(model: Any, recipe: Recipe, key: PRNGKeyArray) -> Progress:
    """Training before its first epoch."""
    parameters = eqx.filter(model, eqx.is_inexact_array)
    return Progress(
        parameters,
        recipe.optimizer.init(parameters),
        recipe.schedule.init(),
        key,
        jnp.zeros((), int),
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
    moments are gathered, so that it starts with a sensible step when it thaws.
    """
    rows = data.weight.shape[0]
    batches = -(-rows // recipe.batch_size)
    key, order_key = jax.random.split(progress.key)
    order = jax.random.permutation(order_key, rows)
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

    (parameters, optimizer), (totals, misfits, costs, rates) = jax.lax.scan(
        step, (progress.parameters, progress.optimizer), (jnp.arange(batches), chosen, used)
    )
    held_out = jnp.full((), jnp.nan)
    if validation is not None:
        held_out = data_loss(eqx.combine(parameters, static), validation, recipe)
    # Without held-out data the schedule looks at the training objective.
    seen = jnp.mean(totals) if validation is None else settings.data_weight * held_out
    schedule = recipe.schedule.observe(progress.schedule, seen)
    finite = jnp.all(jnp.stack([jnp.all(jnp.isfinite(p)) for p in jax.tree.leaves(parameters)]))
    report = Report(totals, misfits, costs, held_out, rates[-1], finite)
    return Progress(parameters, optimizer, schedule, key, progress.epoch + 1), report


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
