"""Masked targets and their loss."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float


class Masked(NamedTuple):
    """Sequences of frames with a mask: the targets of [`shootax.nn.masked_squared_error`][].

    **Arguments:**

    - `frames`: the frames, `(batch, time, ...)`.
    - `mask`: 1 for each frame, or each pixel of a frame, that counts, and 0 for the others.

    !!! example

        ```python
        import numpy as np
        import shootax as sx

        target = sx.nn.Masked(np.zeros((5, 4, 28, 28)), np.ones((5, 4)))
        print(target.mask.shape)  # (5, 4)
        ```
    """

    frames: Any
    mask: Any


def masked_squared_error(
    prediction: Float[Array, "time *shape"], target: Masked
) -> Float[Array, ""]:
    """The mean squared error over the frames of one sequence that count: a loss for `fit`.

    **Arguments:**

    - `prediction`: the predicted frames of one sequence.
    - `target`: the true frames with their mask, which has an entry for each frame, or for each pixel
        of each frame.

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
