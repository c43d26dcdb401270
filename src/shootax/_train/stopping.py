"""Early stopping: the best parameters so far, and for how long there have been no better ones."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree


class Best(NamedTuple):
    """Parameters, the loss they had, and the number of epochs since."""

    parameters: PyTree
    loss: Array
    waited: Array


def unknown(parameters: PyTree) -> Best:
    """Before the first epoch, anything will be better."""
    # With a dtype of its own, as it has later: a program is compiled for each kind of infinity.
    infinity = jnp.full((), jnp.inf, jnp.result_type(float))
    return Best(parameters, infinity, jnp.zeros((), int))


def observe(best: Best, parameters: PyTree, loss: Array) -> Best:
    """The better of two; a loss that is not a number is never better."""
    better = loss.astype(best.loss.dtype) < best.loss
    chosen = jax.tree.map(lambda new, old: jnp.where(better, new, old), parameters, best.parameters)
    lowest = jnp.where(better, loss.astype(best.loss.dtype), best.loss)
    return Best(chosen, lowest, jnp.where(better, 0, best.waited + 1))
