"""Run several epochs in one call of a compiled program, for one net or for many at once."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from shootax._train.compiler_options import compiled
from shootax._train.epoch import Progress, Recipe, Report, Settings, noted, run_epoch
from shootax._train.mesh import Sharing, polish_specs, training_specs
from shootax._train.orders import MOST, Order
from shootax._train.polish import is_over, polish_epoch
from shootax._train.stopping import DIVERGED, RUNNING, STOPPED, next_status
from shootax._train.update import Frame


def run_epochs(
    number: Array,
    progress: Progress,
    orders: Order,
    frame: Frame,
    data: Any,
    validation: Any,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Report]:
    """Run `number` epochs, at most as many as there are orders, and return the new state, and their
    reports along a leading axis.

    A net that diverges keeps the state from before that epoch, and the state of a stopped net does not
    change. Neither number of epochs is part of the program, so the results do not depend on how epochs
    are divided into calls, bit for bit.
    """

    def epoch(i: Array, progress: Progress) -> tuple[Progress, Report]:
        order = jax.tree.map(lambda leaf: leaf[i], orders)
        return run_epoch(progress, order, frame, data, validation, settings, recipe)

    most, batches, _ = orders.chosen.shape
    return _repeated(number, most, batches, progress, epoch, settings.patience)


def run_polish(
    number: Array,
    progress: Progress,
    frame: Frame,
    data: Any,
    validation: Any,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Report]:
    """Like `run_epochs`, for at most `MOST` polishing epochs."""

    def epoch(_: Array, progress: Progress) -> tuple[Progress, Report]:
        return polish_epoch(progress, frame, data, validation, settings, recipe)

    return _repeated(number, MOST, 1, progress, epoch, settings.patience, is_over)


def _repeated(
    number: Array,
    most: int,
    batches: int,
    progress: Progress,
    epoch: Callable[[Array, Progress], tuple[Progress, Report]],
    patience: Array,
    is_over: Callable[[Progress], Array] | None = None,
) -> tuple[Progress, Report]:
    def body(i: Array, carry: tuple[Progress, Report]) -> tuple[Progress, Report]:
        progress, reports = carry
        new, report = epoch(i, progress)
        status = next_status(new, report, patience)
        if is_over is not None:
            status = jnp.where(is_over(new) & (status == RUNNING), STOPPED, status)
        status = jnp.where(report.ran, status, progress.status)
        moves = report.ran & (status != DIVERGED)
        kept = jax.tree.map(lambda a, b: jnp.where(moves, a, b), new, progress)
        report = report._replace(status=status)
        return kept._replace(status=status), noted(reports, i, report)

    each, one = jnp.zeros((most, batches)), jnp.zeros(most)
    status = jnp.full(most, RUNNING, int)
    empty = Report(each, each, each, one, one, jnp.zeros(most, bool), status)
    return jax.lax.fori_loop(0, number, body, (progress, empty))


@functools.cache
def program(
    mapped: bool, options: tuple | None, sharing: Sharing | None = None
) -> Callable[..., tuple[Progress, Report]]:
    """The compiled `run_epochs`, optionally mapped over nets, with the given compiler options, on one
    device or on many."""
    axes = (None, eqx.if_array(0), eqx.if_array(0), None, None, None, None, None)
    return _compiled(run_epochs, axes if mapped else None, options, sharing, training_specs)


@functools.cache
def polish_program(
    mapped: bool, options: tuple | None, sharing: Sharing | None = None
) -> Callable[..., tuple[Progress, Report]]:
    """The compiled `run_polish`, with the same arguments as `program`."""
    axes = (None, eqx.if_array(0), None, None, None, None, None)
    return _compiled(run_polish, axes if mapped else None, options, sharing, polish_specs)


def _compiled(
    run: Callable[..., Any],
    axes: tuple | None,
    options: tuple | None,
    sharing: Sharing | None,
    specs: Callable[..., Any],
) -> Callable[..., Any]:
    run = run if axes is None else eqx.filter_vmap(run, in_axes=axes)
    run = run if sharing is None else sharing.over(run, specs)
    return compiled(run, options, whole=sharing is None)
