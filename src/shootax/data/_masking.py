"""A sampler that masks some frames in training."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import AbstractSampler
from shootax import _checks as checks
from shootax.data._sequences import Sequences
from shootax.nn import FrameRequest


class MaskedFrames(AbstractSampler):
    """A sampler that masks random frames of each sequence, and only decodes the others.

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

        - `sequences`: the sequences. All frames except those in `never` must be given.
        - `first`: the number of first frames that the encoder takes.
        - `never`: the indices, from 0, of frames that no epoch decodes. If they are among the `first`
            frames, the encoder sees them all the same.
        - `hidden`: the number of additional frames to mask, drawn for each sequence.
        - `redrawn`: whether to draw these frames again for every epoch. Otherwise they are drawn once.
        - `seed`: the random seed if they are drawn once.
        """
        checks.instance(sequences, Sequences, "sequences", "MaskedFrames(Sequences(frames))")
        steps = len(sequences.times)
        self.first = checks.positive_integer(first, "first")
        never = tuple(
            checks.non_negative_integer(index, "Each index in never")
            for index in checks.sequence(never, "never", "never=(3,)")
        )
        if max(never, default=0) >= steps:
            raise ValueError(
                f"never must have indices of frames, 0 to {steps - 1}; got {max(never)}."
            )
        hidden = checks.non_negative_integer(hidden, "hidden")
        redrawn, seed = checks.boolean(redrawn, "redrawn"), checks.seed(seed)
        self.shown = tuple(j for j in range(steps) if j not in never)
        if hidden >= len(self.shown):
            raise ValueError(
                f"hidden must be less than {len(self.shown)}, the number of frames not in never; got "
                f"{hidden}."
            )
        if not sequences.mask[:, list(self.shown)].all():
            raise ValueError(
                "Some sequences have frames that are not given. Add the indices of these frames to never."
            )
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
        """For each sequence, the indices of the frames that count, in order."""
        chance = jax.random.uniform(key, (self.frames.shape[0], len(self.shown)))
        order = jnp.argsort(chance, axis=1)[:, : len(self.shown) - self.hidden]
        return jnp.asarray(self.shown)[jnp.sort(order, axis=1)]
