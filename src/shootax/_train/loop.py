"""Several epochs in one call of a compiled program, for one net or for many at once."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax._train.compiler_options import compiler_options
from shootax._train.epoch import Frame, Progress, Recipe, Report, Settings, run_epoch
from shootax._train.samples import row_count

MOST = 50
"""The largest number of epochs in one call."""


def run_epochs(
    number: Array,
    progress: Progress,
    frame: Frame,
    data: Any,
    validation: Any,
    settings: Settings,
    recipe: Recipe,
) -> tuple[Progress, Report]:
    """`number` epochs, at most `MOST`, and their reports along a leading axis.

    A net whose loss or parameters are not finite stays as it was before that epoch, and one whose
    patience is over as it is. The number is
    not part of the program, so calls of any length continue each other to the last bit.
    """

    def body(i: Array, carry: tuple[Progress, Report]) -> tuple[Progress, Report]:
        progress, reports = carry
        new, report = run_epoch(progress, frame, data, validation, settings, recipe)
        resting = jnp.zeros((), bool)
        if progress.best is not None:
            resting = progress.best.waited.astype(settings.patience.dtype) >= settings.patience
        alive = progress.alive & (is_good(report) | resting)
        moves = alive & ~resting
        kept = jax.tree.map(lambda a, b: jnp.where(moves, a, b), new, progress)
        written = jax.tree.map(
            lambda all_, one: all_.at[i].set(one.astype(all_.dtype)), reports, report
        )
        return kept._replace(alive=alive), written

    each = jnp.zeros((MOST, -(-row_count(data) // recipe.batch_size)))
    one = jnp.zeros(MOST)
    waited = jnp.zeros(MOST, int) if recipe.stopping else None
    empty = Report(each, each, each, one, one, jnp.zeros(MOST, bool), waited)
    return jax.lax.fori_loop(0, number, body, (progress, empty))


def is_good(report: Any) -> Any:
    """Whether an epoch ended with finite numbers."""
    lib = np if isinstance(report.objective, np.ndarray) else jnp
    return lib.isfinite(report.objective).all() & report.finite


@functools.cache
def program(mapped: bool, parameters: int) -> Callable[..., tuple[Progress, Report]]:
    """The compiled `run_epochs` for models with so many parameters, mapped over nets or not."""
    options = compiler_options(parameters)
    wanted: Any = {} if options is None else {"compiler_options": options}
    axes = (None, eqx.if_array(0), None, None, None, None, None)
    run = eqx.filter_vmap(run_epochs, in_axes=axes) if mapped else run_epochs
    return eqx.filter_jit(run, **wanted)
