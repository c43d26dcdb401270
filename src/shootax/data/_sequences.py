"""Sequences of frames at given times, with a mask: the data of latent models."""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

from shootax import _checks as checks
from shootax.extend import as_numbers


@dataclasses.dataclass(frozen=True)
class Sequences:
    """Sequences `(n, time, ...)`, the times of their frames, and a mask of the frames that are given.

    A frame is anything measured at one time, such as an image, the angles of joints, or prices.

    !!! example

        ```python
        import numpy as np
        from shootax.data import Sequences

        frames = np.random.default_rng(0).normal(size=(6, 4, 3))  # six sequences of four frames
        mask = np.ones((6, 4), bool)
        mask[:, 2] = False  # not given in any sequence
        train, test = Sequences(frames, [0.0, 0.1, 0.2, 0.3], mask).split(4)
        print(len(train), len(test), train.shape)  # 4 2 (3,)
        ```
    """

    frames: Float[np.ndarray, "n time *shape"]
    times: Float[np.ndarray, " time"]
    mask: Bool[np.ndarray, "n time"]

    def __init__(self, frames: np.ndarray, times: object = None, mask: object = None):
        """**Arguments:**

        - `frames`: the frames, `(n, time, ...)`.
        - `times`: the times of the frames, increasing from 0. The default is 0, 0.1, 0.2, …
        - `mask`: which frames are given, `(n, time)`. By default all are given.
        """
        frames = np.asarray(frames)
        if frames.ndim < 3 or 0 in frames.shape:
            raise ValueError(
                f"frames must have shape (n, time, ...), not empty, got {frames.shape}. Use "
                "frames[:, :, None] for sequences of numbers."
            )
        if frames.dtype.kind not in "fiub":
            raise ValueError(f"frames must be numbers, got an array of dtype {frames.dtype}.")
        n, steps = frames.shape[:2]
        moments = 0.1 * np.arange(steps) if times is None else as_numbers(times)
        checks.real_numbers(moments, "times")
        moments = np.asarray(moments, float)
        if moments.shape != (steps,) or moments[0] != 0 or np.any(np.diff(moments) <= 0):
            raise ValueError(
                f"times must be {steps} numbers, one for each frame, increasing from 0; got {times}."
            )
        given = np.ones((n, steps), bool) if mask is None else np.asarray(mask).astype(bool)
        if given.shape != (n, steps) or not given.any(axis=1).all():
            raise ValueError(
                f"mask must have shape {(n, steps)}, with a given frame in every sequence; got shape "
                f"{given.shape}."
            )
        checks.finite(frames[given], "Frames that are given")
        frames = np.where(given.reshape(n, steps, *[1] * (frames.ndim - 2)), frames, 0)
        object.__setattr__(self, "frames", frames.astype(np.float32))
        object.__setattr__(self, "times", moments)
        object.__setattr__(self, "mask", given)

    def __len__(self) -> int:
        return len(self.frames)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one frame."""
        return self.frames.shape[2:]

    def first(self, number: int = 1) -> np.ndarray:
        """The first `number` frames of each sequence, `(n, number, ...)`, such as for an encoder."""
        if not 0 < number <= len(self.times) or not self.mask[:, :number].all():
            raise ValueError(
                f"The first {number} frames of {len(self.times)} must exist and be given in every "
                "sequence. Use a smaller number, at least 1."
            )
        return self.frames[:, :number]

    def split(self, first: int) -> tuple["Sequences", "Sequences"]:
        """Split into the first `first` sequences and the rest."""
        if not 0 < first < len(self):
            raise ValueError(f"first must satisfy 0 < first < {len(self)}, got {first}.")
        return self[:first], self[first:]

    def __getitem__(self, index: slice) -> "Sequences":
        return Sequences(self.frames[index], self.times, self.mask[index])
