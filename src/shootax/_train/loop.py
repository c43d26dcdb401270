"""Several epochs in one call of a compiled program, for one net or for many at once."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from shootax._train.epoch import Progress, Recipe, Report, Settings, run_epoch
from shootax._train.mesh import Sharing, training_specs
from shootax._train.orders import Order
from shootax._train.stopping import DIVERGED, RUNNING, next_status
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
    """`number` epochs, at most as many as there are orders, and their reports along a leading axis.

    A net that diverges keeps the state from before that epoch, and one that does not run stays as it
    is. Neither number is part of the program, so that calls of any length continue each other, bit
    for bit.
    """

    def body(i: Array, carry: tuple[Progress, Report]) -> tuple[Progress, Report]:
        progress, reports = carry
        order = jax.tree.map(lambda leaf: leaf[i], orders)
        new, report = run_epoch(progress, order, frame, data, validation, settings, recipe)
        status = jnp.where(report.ran, next_status(new, report, settings.patience), progress.status)
        moves = report.ran & (status != DIVERGED)
        kept = jax.tree.map(lambda a, b: jnp.where(moves, a, b), new, progress)
        report = report._replace(status=status)
        written = jax.tree.map(
            lambda all_, one: all_.at[i].set(one.astype(all_.dtype)), reports, report
        )
        return kept._replace(status=status), written

    most, batches, _ = orders.chosen.shape
    each, one = jnp.zeros((most, batches)), jnp.zeros(most)
    status = jnp.full(most, RUNNING, int)
    empty = Report(each, each, each, one, one, jnp.zeros(most, bool), status)
    return jax.lax.fori_loop(0, number, body, (progress, empty))


@functools.cache
def program(
    mapped: bool, options: tuple | None, sharing: Sharing | None = None
) -> Callable[..., tuple[Progress, Report]]:
    """The compiled `run_epochs`, mapped over nets or not, with these options for the compiler, on one
    device or on many."""
    wanted: Any = {} if options is None else {"compiler_options": dict(options)}
    axes = (None, eqx.if_array(0), eqx.if_array(0), None, None, None, None, None)
    run = eqx.filter_vmap(run_epochs, in_axes=axes) if mapped else run_epochs
    if sharing is not None:
        run = sharing.over(run, training_specs)
    return eqx.filter_jit(run, **wanted)
