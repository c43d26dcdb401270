"""Sequences of rotating handwritten threes."""

import functools
import importlib.resources
import io

import numpy as np

from shootax import _checks as checks
from shootax.data._sequences import Sequences

FRAMES = 16
TRAINING = 500
HELD_OUT = 3
"""The index of the frame that training never sees and the test predicts."""


@functools.cache
def threes() -> np.ndarray:
    """Load the 1042 threes among the MNIST training images 1000 to 10999, as bytes `(1042, 28, 28)`.

    MNIST is by Yann LeCun and Corinna Cortes, CC BY-SA 3.0; see the notice beside the file.

    !!! example

        ```python
        from shootax.data import threes

        print(threes().shape)  # (1042, 28, 28)
        ```
    """
    file = importlib.resources.files("shootax.data") / "mnist_threes.npz"
    with np.load(io.BytesIO(file.read_bytes()), allow_pickle=False) as arrays:
        return arrays["images"]


@functools.cache
def rotating_mnist() -> tuple[Sequences, Sequences]:
    """Load 500 training and 542 test sequences of rotating threes, with 16 frames each.

    Each frame is rotated by 24 degrees more than the last. Frame 15 is rotated by 360 degrees and equals
    frame 0. Frames are rotated with cubic splines, and each is then scaled to [0, 1]. The times are
    0, 0.1, …, 1.5.

    !!! example

        ```python
        from shootax.data import rotating_mnist

        train, test = rotating_mnist()
        print(train.frames.shape, len(test))  # (500, 16, 28, 28) 542
        ```
    """
    return turning(threes()).split(TRAINING)


def turning(images: np.ndarray) -> Sequences:
    """Rotate images by 360 degrees in sequences of 16 frames.

    **Arguments:** `images`: the images, `(n, height, width)`.

    !!! example

        ```python
        from shootax.data import threes, turning

        print(turning(threes()[:2]).frames.shape)  # (2, 16, 28, 28)
        ```
    """
    images = _images(images)
    frames = np.stack([turned(images, 360 / (FRAMES - 1) * j) for j in range(FRAMES)], axis=1)
    low, high = frames.min(axis=(2, 3), keepdims=True), frames.max(axis=(2, 3), keepdims=True)
    return Sequences((frames - low) / (high - low))


def deformed(
    images: np.ndarray,
    seed: int,
    *,
    degrees: float = 10.0,
    stretch: float = 0.1,
    shear: float = 0.15,
    shift: float = 0.5,
) -> np.ndarray:
    """Deform each image by a small random affine map.

    **Arguments:**

    - `images`: the images, `(n, height, width)`.
    - `seed`: the random seed.
    - `degrees`, `stretch`, `shear`, `shift`: the largest rotation, relative change of length along each
        axis, shear, and translation (in pixels). Each map is drawn uniformly within these limits.

    !!! example

        ```python
        from shootax.data import deformed, threes

        print(deformed(threes()[:2], seed=0).shape)  # (2, 28, 28)
        ```
    """
    from scipy import ndimage

    images = _images(images)
    random = np.random.default_rng(checks.seed(seed))
    degrees, stretch, shear, shift = (
        checks.non_negative_number(value, name)
        for value, name in (
            (degrees, "degrees"),
            (stretch, "stretch"),
            (shear, "shear"),
            (shift, "shift"),
        )
    )
    middle = (np.array(images.shape[1:]) - 1) / 2
    out = np.empty(images.shape)
    for i, image in enumerate(images):
        angle = np.deg2rad(random.uniform(-degrees, degrees))
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        slant = np.array([[1.0, 0.0], [random.uniform(-shear, shear), 1.0]])
        matrix = turn @ slant @ np.diag(1 + random.uniform(-stretch, stretch, 2))
        start = middle - matrix @ middle + random.uniform(-shift, shift, 2)
        shown = np.asarray(image, float)
        out[i] = ndimage.affine_transform(shown, matrix, start, order=3)  # pyright: ignore[reportArgumentType]
    return np.clip(out, 0, 255)


def _images(images: np.ndarray) -> np.ndarray:
    images = np.asarray(images)
    if images.ndim != 3 or images.dtype.kind not in "biuf":
        raise ValueError(
            "images must be an array of numbers of shape (n, height, width), got shape "
            f"{images.shape} and dtype {images.dtype}."
        )
    return images.astype(float)


def turned(images: np.ndarray, degrees: float) -> np.ndarray:
    """Rotate images `(n, height, width)` about their centre, anticlockwise, by cubic splines. The
    results are cropped to the size of the images."""
    from scipy import ndimage

    return ndimage.rotate(images, degrees, axes=(2, 1), reshape=False, order=3)
