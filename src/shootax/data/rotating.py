"""Handwritten threes that turn once around."""

import functools
import importlib.resources
import io

import numpy as np

from shootax.data.sequences import Sequences

FRAMES = 16
TRAINING = 500
HELD_OUT = 3
"""The frame that training never sees, and that the test asks for."""


@functools.cache
def threes() -> np.ndarray:
    """The 1042 threes among the training images 1000 to 10999 of MNIST, as bytes `(1042, 28, 28)`.

    MNIST is by Yann LeCun and Corinna Cortes, CC BY-SA 3.0; see the notice beside the file.
    """
    file = importlib.resources.files("shootax.data") / "mnist_threes.npz"
    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
        return arrays["images"]


@functools.cache
def rotating_mnist() -> tuple[Sequences, Sequences]:
    """Sequences of 16 frames, each turned by 24 degrees more than the last: 500 to train, 542 to test.

    Frame 15 has turned by 360 degrees and equals frame 0. Frames are turned with cubic splines and
    then scaled to [0, 1] each. The times are 0, 0.1, …, 1.5.

    !!! example

        ```python
        from shootax.data import rotating_mnist

        train, test = rotating_mnist()
        print(train.frames.shape, len(test))  # (500, 16, 28, 28) 542
        ```
    """
    images = threes().astype(float)
    frames = np.stack([turned(images, 360 / (FRAMES - 1) * j) for j in range(FRAMES)], axis=1)
    low, high = frames.min(axis=(2, 3), keepdims=True), frames.max(axis=(2, 3), keepdims=True)
    return Sequences((frames - low) / (high - low)).split(TRAINING)


def turned(images: np.ndarray, degrees: float) -> np.ndarray:
    """Images `(n, height, width)` turned about their middle by cubic splines, and cut to their size."""
    from scipy import ndimage

    return ndimage.rotate(images, degrees, axes=(2, 1), reshape=False, order=3)
