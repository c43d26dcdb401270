"""Frames that training does not see."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Masked(NamedTuple):
    """The frames of sequences, and which of them are given."""

    frames: Any
    mask: Any


def masked_squared_error(
    prediction: Float[Array, "time *shape"], target: Masked
) -> Float[Array, ""]:
    """The mean squared error over the frames of one sequence that are given: a loss for `fit`.

    The mask has an entry for each frame, or for each pixel of each frame.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        frames, mask = jnp.array([[1.0], [5.0]]), jnp.array([1.0, 0.0])
        print(sx.nn.masked_squared_error(jnp.zeros((2, 1)), sx.nn.Masked(frames, mask)))  # 1.0
        ```
    """
    rest = tuple(range(target.mask.ndim, prediction.ndim))
    each = jnp.mean((prediction - target.frames) ** 2, axis=rest)
    mask = target.mask.astype(each.dtype)
    return jnp.sum(each * mask) / jnp.maximum(jnp.sum(mask), 1)
