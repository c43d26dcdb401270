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

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        frames, mask = jnp.array([[1.0], [5.0]]), jnp.array([1.0, 0.0])
        print(sx.nn.masked_squared_error(jnp.zeros((2, 1)), sx.nn.Masked(frames, mask)))  # 1.0
        ```
    """
    each = jnp.mean((prediction - target.frames) ** 2, axis=tuple(range(1, prediction.ndim)))
    mask = target.mask.astype(each.dtype)
    return jnp.sum(each * mask) / jnp.maximum(jnp.sum(mask), 1)
