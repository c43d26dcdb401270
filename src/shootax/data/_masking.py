"""Sequences of which training sees only some frames."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import AbstractSampler
from shootax import _checks as checks
from shootax.data._sequences import Sequences
from shootax.nn import FrameRequest


class MaskedFrames(AbstractSampler):
    """For every epoch other frames of each sequence are masked, and only the others are decoded.

    !!! example

        ```python
        import jax
        from shootax.data import MaskedFrames, bouncing_balls

        sampler = MaskedFrames(bouncing_balls(5), hidden=4)
        request, frames = sampler(jax.random.key(0))
        print(frames.shape)  # (5, 16, 28, 28)
        ```
    """

    frames: Float[Array, "n time *shape"]
    once: PRNGKeyArray | None
    first: int
    shown: tuple[int, ...]
    hidden: int

    def __init__(
        self,
        sequences: Sequences,
        *,
        first: int = 1,
        never: tuple[int, ...] = (),
        hidden: int = 0,
        redrawn: bool = True,
        seed: int = 0,
    ):
        """**Arguments:**

        - `sequences`: all of the same length, with every frame given but those in `never`.
        - `first`: how many frames the encoder sees.
        - `never`: numbers of frames that are masked in every epoch.
        - `hidden`: how many more are masked, drawn for each sequence.
        - `redrawn`: whether they are drawn anew for every epoch, or once for all.
        - `seed`: of the draw once for all.
        """
        checks.instance(sequences, Sequences, "sequences", "MaskedFrames(Sequences(frames))")
        steps = len(sequences.times)
        self.first = checks.positive_integer(first, "first")
        never = checks.sequence(never, "never", "never=(3,)")
        hidden = checks.non_negative_integer(hidden, "hidden")
        redrawn, seed = checks.boolean(redrawn, "redrawn"), checks.seed(seed)
        self.shown = tuple(j for j in range(steps) if j not in never)
        if hidden >= len(self.shown):
            raise ValueError(
                f"hidden must be less than {len(self.shown)}, the number of frames that are shown; "
                f"got {hidden}."
            )
        if not sequences.mask[:, list(self.shown)].all():
            raise ValueError("Frames that are not given must be among those never shown.")
        sequences.first(first)
        self.hidden = hidden
        self.frames = jnp.asarray(sequences.frames, jnp.result_type(float))
        self.once = None if redrawn else jax.random.key(seed)

    def __call__(self, key: PRNGKeyArray) -> tuple[FrameRequest, Array]:
        which = self.drawn(key if self.once is None else self.once)
        spread = which.reshape(*which.shape, *[1] * (self.frames.ndim - 2))
        return (
            FrameRequest(self.frames[:, : self.first], which),
            jnp.take_along_axis(self.frames, spread, axis=1),
        )

    def drawn(self, key: PRNGKeyArray) -> Array:
        """For each sequence the numbers of the frames that count, in order."""
        chance = jax.random.uniform(key, (self.frames.shape[0], len(self.shown)))
        order = jnp.argsort(chance, axis=1)[:, : len(self.shown) - self.hidden]
        return jnp.asarray(self.shown)[jnp.sort(order, axis=1)]
