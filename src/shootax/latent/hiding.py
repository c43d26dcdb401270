"""Frames that training does not see."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import checks
from shootax.data.sequences import Sequences
from shootax.latent.model import Asked
from shootax.train import AbstractSampler


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
    import numpy as np
            import shootax as sx

            frames, mask = jnp.array([[1.0], [5.0]]), jnp.array([1.0, 0.0])
            print(sx.masked_squared_error(jnp.zeros((2, 1)), sx.Masked(frames, mask)))  # 1.0
            ```
    """
    each = jnp.mean((prediction - target.frames) ** 2, axis=tuple(range(1, prediction.ndim)))
    mask = target.mask.astype(each.dtype)
    return jnp.sum(each * mask) / jnp.maximum(jnp.sum(mask), 1)


class HiddenFrames(AbstractSampler):
    """For every epoch other frames of each sequence are hidden, and only the others are decoded.

    **Arguments:** of the constructor:

    - `sequences`: all of the same length, with every frame given but those in `never`.
    - `first`: how many frames the encoder sees.
    - `never`: numbers of frames that are hidden in every epoch.
    - `hidden`: how many more are hidden, drawn for each sequence.
    - `redrawn`: whether they are drawn anew for every epoch, or once for all.
    - `period`: after so many frames the sequences are at their beginning again. Then they may as
        well begin with any frame, and each does with one that is drawn for it.
    """

    frames: Float[Array, "n time *shape"]
    once: PRNGKeyArray | None
    first: int
    never: tuple[int, ...]
    period: int
    begins: tuple[int, ...]
    count: int

    def __init__(
        self,
        sequences: Sequences,
        *,
        first: int = 1,
        never: tuple[int, ...] = (),
        hidden: int = 0,
        redrawn: bool = True,
        period: int | None = None,
        seed: int = 0,
    ):
        steps = len(sequences.times)
        self.first = checks.positive_integer(first, "first")
        self.never = tuple(never)
        if period is not None and not max((first - 1, *never)) < period <= steps:
            raise ValueError(
                f"A period of {period} frames does not go with sequences of {steps} frames, of which "
                f"the encoder sees {first} and the frames {list(never)} are never shown."
            )
        self.period = steps if period is None else period
        shown = ~np.isin(np.arange(self.period), never)
        turned = {b: np.resize(np.roll(shown, -b), steps) for b in range(period or 1)}
        self.begins = tuple(b for b, seen in turned.items() if seen[:first].all())
        fewest = min((turned[b].sum() for b in self.begins), default=0)
        if not 0 <= hidden < fewest:
            raise ValueError(f"Of {fewest} frames {hidden} cannot be hidden.")
        self.count = int(fewest) - hidden
        if not sequences.mask[:, ~np.isin(np.arange(steps), never)].all():
            raise ValueError("Frames that are not given must be among those never shown.")
        self.frames = jnp.asarray(sequences.frames, jnp.result_type(float))
        self.once = None if redrawn else jax.random.key(seed)

    def __call__(self, key: PRNGKeyArray) -> tuple[Asked, Array]:
        order, which = self.drawn(key if self.once is None else self.once)
        first = _picked(self.frames, order[:, : self.first])
        return Asked(first, which), _picked(self.frames, jnp.take_along_axis(order, which, axis=1))

    def drawn(self, key: PRNGKeyArray) -> tuple[Array, Array]:
        """For each sequence its frames in the order in which they come, and the numbers of the
        places that count."""
        n, steps = self.frames.shape[:2]
        start, hide = jax.random.split(key)
        begin = jax.random.choice(start, jnp.asarray(self.begins), (n, 1))
        order = (begin + jnp.arange(steps)[None]) % self.period
        chance = jax.random.uniform(hide, order.shape)
        chance = jnp.where(jnp.isin(order, jnp.asarray(self.never, int)), 2.0, chance)
        return order, jnp.sort(jnp.argsort(chance, axis=1)[:, : self.count], axis=1)


def _picked(frames: Array, which: Array) -> Array:
    """Some frames of each sequence."""
    return jnp.take_along_axis(
        frames, which.reshape(*which.shape, *[1] * (frames.ndim - 2)), axis=1
    )
