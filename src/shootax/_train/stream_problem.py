"""Check the options of a training on a stream, and convert them to the form for all trainings."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._train.hosts import several
from shootax._train.orders import Size
from shootax._train.problem import Problem
from shootax._train.samples import Data
from shootax._train.streams import Stream
from shootax._train.validation import as_validation

_ENDLESS = 10**9


def opened(
    x: Any, y: Any, sample_weight: Any, times: Any, validation: Any, steps_per_epoch: int | None
) -> tuple[Stream, int]:
    """Open a stream, and return it with the number of batches in an epoch."""
    if y is not None or sample_weight is not None or np.ndim(times) == 2:
        raise ValueError(
            "A stream yields targets, weights and times with its batches: leave out y, sample_weight, "
            "and times that differ by sample."
        )
    held = as_validation(validation).data
    if held is not None and not isinstance(held, tuple):
        raise ValueError("With a stream, give the validation data as a pair (x, y).")
    stream = Stream(x)
    if steps_per_epoch is not None:
        return stream, checks.positive_integer(steps_per_epoch, "steps_per_epoch")
    length = stream.length()
    if length is None or length > _ENDLESS:
        raise ValueError(
            "The stream does not say how many batches it has. Give steps_per_epoch, the number of "
            "batches after which an epoch ends, as in fit(net, stream, epochs=10, steps_per_epoch=1000)."
        )
    return stream, length


def example(stream: Stream, times: Any) -> tuple[PyTree[Array], PyTree[Array], int, Any]:
    """Return zero inputs and targets with the shapes of the stream, the batch size, and the times."""
    zeros = jax.tree.map(np.zeros_like, (stream.first.x, stream.first.y))
    return *zeros, stream.size, times if stream.first.times is None else stream.first.times


def of_stream(problem: Problem, stream: Stream, steps: int) -> Problem:
    """Adapt a problem to a stream, whose targets get the shape that the loss expects."""
    data = problem.data
    assert isinstance(data, Data)
    stream.target_shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(data.y)]
    size = Size(*(np.asarray(n, jnp.result_type(int)) for n in (steps * stream.size, steps, steps)))
    few = jax.tree.map(lambda leaf: np.asarray(leaf)[:1], data)
    settings = problem.settings._replace(size=jax.device_put(size))
    recipe = problem.recipe
    if several() and recipe.sharing is None:
        raise ValueError('There are several processes: train with mesh="auto".')
    return problem._replace(data=few, settings=settings, weight=np.ones(1))
