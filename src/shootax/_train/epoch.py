"""One epoch of training, as part of a compiled program."""

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from shootax._measures import penalty
from shootax._train.losses import Loss
from shootax._train.mesh import Sharing
from shootax._train.orders import Order, Size
from shootax._train.samples import AbstractSampler, Data, drawn
from shootax._train.stopping import RUNNING, Best, observe, unknown
from shootax._train.update import Frame, Moving, Numbers, Rule, advance, begin, step_sizes


@dataclasses.dataclass(frozen=True)
class Recipe:
    """The settings that determine the compiled program of an epoch."""

    loss: Loss
    rule: Rule
    batch_size: int
    shared_times: tuple[float, ...] | None
    keeps_best: bool
    sharing: Sharing | None = None  # the devices that train together


class Settings(NamedTuple):
    """Numbers that can change without recompilation. `patience` is in epochs."""

    numbers: Numbers
    data_strength: Any
    penalty_strength: Any
    epochs: Any
    patience: Any
    size: Size


class Progress(NamedTuple):
    """The state of a training between epochs."""

    moving: Moving
    schedule: PyTree
    epoch: Array
    status: Array
    best: Best | None

    @property
    def model(self) -> Array:
        """The parameters to return, of one net or of many."""
        return self.moving.model if self.best is None else self.best.parameters


class Report(NamedTuple):
    """The numbers of an epoch. The first three have an entry for each batch, and zeros after the last.

    `ran` says whether the epoch was run, and `status` is the status of the training after it.
    """

    objective: Array
    data: Array
    penalty: Array
    validation: Array
    learning_rate: Array
    ran: Array
    status: Array


def start(vector: Array, frame: Frame, recipe: Recipe) -> Progress:
    """The state of a training before its first epoch."""
    zero = jax.device_put(np.zeros((), jnp.result_type(int)))
    return Progress(
        begin(vector, frame, recipe.rule),
        recipe.rule.schedule.init(),
        zero,
        zero,  # the status RUNNING
        unknown(vector) if recipe.keeps_best else None,
    )


def run_epoch(
    progress: Progress,
    order: Order,
    frame: Frame,
    data: Data | AbstractSampler,
    validation: Data | None,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Report]:
    """Train on all batches of an epoch in the given order, and compute the validation loss."""
    fresh = isinstance(data, AbstractSampler)
    if isinstance(data, AbstractSampler):
        assert order.key is not None
        key = jax.random.wrap_key_data(order.key, impl="threefry2x32")
        data = drawn(data, jax.random.fold_in(key, 1))
    samples, _, filled = settings.size
    places = jnp.arange(recipe.batch_size)

    def step(number: Array, carry: tuple[Moving, Batches]) -> tuple[Moving, Batches]:
        moving, reports = carry
        real = number * recipe.batch_size + places < samples
        batch, weight = chosen_samples(data, order.chosen[number], real, recipe, fresh)
        moving, new = take_step(moving, batch, weight, number, progress, frame, settings, recipe)
        return moving, noted(reports, number, new)

    zeros = jnp.zeros(order.chosen.shape[0])
    nothing = Batches(zeros, zeros, zeros, zeros)
    moving, reports = jax.lax.fori_loop(0, filled, step, (progress.moving, nothing))
    # Batches that are not filled count as zero.
    seen = jnp.sum(reports.objective) / filled.astype(reports.objective.dtype)
    after, held_out = end_epoch(
        progress._replace(moving=moving), seen, frame, validation, settings, recipe
    )
    ran, last = progress.status == RUNNING, reports.learning_rate[filled - 1]
    parts = (reports.objective, reports.data, reports.penalty)
    return after, Report(*parts, held_out, last, ran, progress.status)


def end_epoch(
    progress: Progress,
    seen: Array,
    frame: Frame,
    validation: Data | None,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Array]:
    """Return the state after an epoch whose mean objective is `seen`, and the validation loss."""
    moving, held_out = progress.moving, jnp.full((), jnp.nan)
    if validation is not None:
        model = frame.model(moving.model)
        held_out = validation_loss(model, validation, recipe)
        seen = weighed(held_out, penalty(model), settings)
    watched = seen if validation is None else held_out
    after = Progress(
        moving=moving,
        schedule=recipe.rule.schedule.observe(progress.schedule, seen),
        epoch=progress.epoch + 1,
        status=progress.status,
        best=None if progress.best is None else observe(progress.best, moving.model, watched),
    )
    return after, held_out


class Batches(NamedTuple):
    """The numbers of each batch of an epoch."""

    objective: Array
    data: Array
    penalty: Array
    learning_rate: Array


Reports = TypeVar("Reports", Batches, Report)


def take_step(
    moving: Moving,
    batch: Data,
    weight: Array,
    number: Array,
    progress: Progress,
    frame: Frame,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Moving, Batches]:
    """Take the step for batch `number` of an epoch. `weight` has the weights of the whole batch, and
    `batch` only this device's samples of it."""
    rule, numbers, batches = recipe.rule, settings.numbers, settings.size.batches
    passed = (progress.epoch * batches + number).astype(numbers.learning_rate.dtype)
    whole = settings.epochs * batches.astype(settings.epochs.dtype)
    done = passed / whole.astype(passed.dtype)
    rate = numbers.learning_rate * rule.schedule.factor(progress.schedule, done)
    moving, (total, (misfit, cost)) = advance(
        moving,
        batch_objective(batch, weight, frame, settings, recipe),
        frame,
        rule,
        numbers,
        learning_rate=rate,
        sizes=step_sizes(progress.epoch, numbers, rule, moving.parameters.dtype),
        passed=passed,
        together=summed_up(settings, recipe),
    )
    return moving, Batches(total, misfit, cost, rate)


def noted(reports: Reports, number: Array, new: Reports) -> Reports:
    """Write the numbers of one batch or epoch into those of all."""

    def write(known: Array, value: Array) -> Array:
        return jax.lax.dynamic_update_index_in_dim(known, value.astype(known.dtype), number, 0)

    return jax.tree.map(write, reports, new)


def chosen_samples(
    data: Data, index: Array, real: Array, recipe: Recipe, fresh: bool
) -> tuple[Data, Array]:
    """Return this device's samples of a batch, and the weights of the whole batch.

    `real` is a mask of the samples that count, and `fresh` says whether every device has all samples.
    """
    sharing = recipe.sharing
    if sharing is not None:  # all devices have the same number of samples
        more = sharing.rounded(len(index)) - len(index)
        index, real = jnp.pad(index, (0, more), mode="wrap"), jnp.pad(real, (0, more))
    weight = data.sample_weight[index]
    weight = weight * real.astype(weight.dtype)
    if sharing is None:
        batch = jax.tree.map(lambda leaf: leaf[index], data)
        return batch._replace(sample_weight=weight), weight
    rest = data._replace(sample_weight=None)  # pyright: ignore[reportArgumentType]
    if fresh:
        mine = sharing.own(index)
        batch = jax.tree.map(lambda leaf: leaf[mine], rest)
    else:
        batch = jax.tree.map(lambda leaf: sharing.exchanged(leaf, index), rest)
    return batch._replace(sample_weight=sharing.own(weight)), weight


def batch_objective(
    batch: Data, weight: Array, frame: Frame, settings: Settings, recipe: Recipe
) -> Callable[[Array], tuple[Array, tuple[Array, Array]]]:
    """The objective as a function of the parameters, or, with several devices, this device's share."""
    devices = 1 if recipe.sharing is None else recipe.sharing.devices

    def objective(vector: Array) -> tuple[Array, tuple[Array, Array]]:
        model = frame.model(vector)
        misfit, cost = data_loss(model, batch, recipe, weight), penalty(model)
        share = cost if devices == 1 else cost / devices
        return weighed(misfit, share, settings), (misfit, cost)

    return objective


def summed_up(settings: Settings, recipe: Recipe) -> Callable[[Any, Array], Any] | None:
    """A function that sums the shares of all devices to one objective and one gradient."""
    sharing = recipe.sharing
    if sharing is None:
        return None

    def together(found: Any, gradient: Array) -> Any:
        _, (misfit, cost) = found
        both = sharing.total(jnp.append(gradient, misfit.astype(gradient.dtype)))
        misfit = both[-1].astype(misfit.dtype)
        return (weighed(misfit, cost, settings), (misfit, cost)), both[:-1]

    return together


def weighed(misfit: Array, cost: Array, settings: Settings) -> Array:
    """The objective: the data loss and the penalty, each times its strength."""
    return settings.data_strength * misfit + settings.penalty_strength * cost


def data_loss(model: Any, data: Data, recipe: Recipe, weight: Array) -> Float[Array, ""]:
    """The weighted mean of the losses. `weight` has the weights of all samples in the mean."""
    return loss_sum(model, data, recipe) / total_weight(jnp.sum(weight))


def loss_sum(model: Any, data: Data, recipe: Recipe) -> Float[Array, ""]:
    """The weighted sum of the losses of the samples."""
    times = recipe.shared_times if data.times is None else data.times
    predictions = model(data.x) if times is None else model(data.x, times)
    losses = jax.vmap(recipe.loss)(predictions, data.y)
    return jnp.sum(losses * data.sample_weight)


def validation_loss(model: Any, data: Data, recipe: Recipe) -> Float[Array, ""]:
    """The weighted mean of the losses of held-out samples, of which each device has a part."""
    if recipe.sharing is None:
        return data_loss(model, data, recipe, data.sample_weight)
    parts = jnp.stack([loss_sum(model, data, recipe), jnp.sum(data.sample_weight)])
    total, weight = recipe.sharing.total(parts)
    return total / total_weight(weight)


def total_weight(total: Array) -> Array:
    """The divisor of a weighted mean: the sum of the weights, or 1 if all of them are zero."""
    return jnp.where(total > 0, total, 1.0)
