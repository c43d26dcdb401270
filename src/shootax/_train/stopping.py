"""Decide whether training ends before its last epoch.

Training stops if its patience is exhausted, a callback stops it, or its numbers are not finite.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

RUNNING, STOPPED, DIVERGED = 0, 1, 2
"""The status of a training."""


class Best(NamedTuple):
    """The best parameters so far, their loss, and the number of epochs since."""

    parameters: PyTree
    loss: Array
    waited: Array


def unknown(parameters: PyTree) -> Best:
    """The state before the first epoch, with an infinite loss."""
    # With an explicit dtype, as in later epochs, so that the program is not compiled twice.
    infinity = np.asarray(np.inf, jnp.result_type(float))
    zero = np.zeros((), jnp.result_type(int))
    return Best(parameters, *jax.device_put((infinity, zero)))


def observe(best: Best, parameters: PyTree, loss: Array) -> Best:
    """The better of two sets of parameters. NaN is never better."""
    better = loss.astype(best.loss.dtype) < best.loss
    chosen = jax.tree.map(lambda new, old: jnp.where(better, new, old), parameters, best.parameters)
    lowest = jnp.where(better, loss.astype(best.loss.dtype), best.loss)
    return Best(chosen, lowest, jnp.where(better, 0, best.waited + 1))


def next_status(progress: Any, report: Any, patience: Array) -> Array:
    """The status after an epoch that was run."""
    finite = jnp.isfinite(report.objective).all()
    finite &= jnp.all(jnp.isfinite(progress.moving.parameters))
    status = jnp.full_like(progress.status, RUNNING)
    if progress.best is not None:
        over = progress.best.waited.astype(patience.dtype) >= patience
        status = jnp.where(over, STOPPED, status)
    return jnp.where(finite, status, DIVERGED)
