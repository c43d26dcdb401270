"""Simulate and draw balls that bounce in a box."""

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from shootax import _checks as checks
from shootax.data._sequences import Sequences

BOX, RADIUS, BALLS = 10.0, 1.2, 3
SPEED = 0.5
"""The norm of the velocities of all balls together. Collisions conserve it."""
SUBSTEPS = 2
DRAWN, PIXELS = 32, 28


class Paths(NamedTuple):
    """Positions and velocities of the balls at every frame."""

    x: Float[np.ndarray, "n time balls 2"]
    v: Float[np.ndarray, "n time balls 2"]


def bouncing_balls(sequences: int, *, frames: int = 20, seed: int = 0) -> Sequences:
    """Simulate sequences of images `(frames, 28, 28)` of three balls, at times 0, 0.1, 0.2, …

    **Arguments:**

    - `sequences`: the number of sequences.
    - `frames`: the number of frames of each sequence.
    - `seed`: the random seed.

    !!! example

        ```python
        from shootax.data import bouncing_balls

        print(bouncing_balls(5, seed=1).frames.shape)  # (5, 20, 28, 28)
        ```
    """
    paths = ball_paths(sequences, frames=frames, seed=seed)
    return Sequences(resized(drawn(paths.x)))


def ball_paths(sequences: int, *, frames: int = 20, seed: int = 0) -> Paths:
    """Simulate the positions and velocities of the balls at every frame.

    **Arguments:** `sequences`, `frames`, `seed`: as in [`shootax.data.bouncing_balls`][].

    !!! example

        ```python
        from shootax.data import ball_paths

        print(ball_paths(5)[0].shape)  # (5, 20, 3, 2)
        ```
    """
    n = checks.positive_integer(sequences, "sequences")
    frames = checks.positive_integer(frames, "frames")
    random = np.random.default_rng(checks.seed(seed))
    v = random.normal(size=(n, BALLS, 2))
    v *= SPEED / np.linalg.norm(v, axis=(1, 2), keepdims=True)
    x = placed(random, n)
    seen = []
    for _ in range(frames):
        seen.append((x, v))
        for _ in range(SUBSTEPS):
            x = x + v / SUBSTEPS
            v = collided(x, off_walls(x, v))
    return Paths(*(np.stack(part, axis=1) for part in zip(*seen, strict=True)))


def placed(random: np.random.Generator, n: int) -> np.ndarray:
    """Draw positions in $[2, 10]^2$ until the balls touch neither the walls nor each other."""
    x = np.empty((n, BALLS, 2))
    bad = np.arange(n)
    while len(bad):
        x[bad] = 2 + 8 * random.random((len(bad), BALLS, 2))
        wall = ((x[bad] < RADIUS) | (x[bad] > BOX - RADIUS)).any(axis=(1, 2))
        touch = np.zeros(len(bad), bool)
        for i in range(BALLS):
            for j in range(i):
                touch |= np.linalg.norm(x[bad, i] - x[bad, j], axis=1) < 2 * RADIUS
        bad = bad[wall | touch]
    return x


def off_walls(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocities that point inward for every ball that overlaps a wall. Positions are not corrected."""
    v = np.where(x < RADIUS, np.abs(v), v)
    return np.where(x > BOX - RADIUS, -np.abs(v), v)


def collided(x: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Velocities after elastic collisions of overlapping balls of equal mass."""
    v = v.copy()
    for i in range(BALLS):
        for j in range(i):
            apart = x[:, i] - x[:, j]
            distance = np.linalg.norm(apart, axis=1, keepdims=True)
            normal = apart / np.maximum(distance, 1e-12)
            along = np.sum((v[:, i] - v[:, j]) * normal, axis=1, keepdims=True)
            change = np.where(distance < 2 * RADIUS, along, 0) * normal
            v[:, i] -= change
            v[:, j] += change
    return v


def drawn(x: Float[np.ndarray, "*n balls 2"]) -> np.ndarray:
    """Draw byte images `(..., 32, 32)`: $\\min(1, Σ_i e^{-(|c - x_i|^2/r^2)^4})$ at pixel centres $c$.

    Each ball is drawn in a window, outside of which its height is less than a millionth of the maximum.
    """
    pixel, margin, window = BOX / DRAWN, 12, 12
    flat = x.reshape(-1, *x.shape[-2:])
    images = np.empty((len(flat), DRAWN, DRAWN), np.uint8)
    for rows in chunks(len(flat)):
        total = np.zeros((len(rows), DRAWN + 2 * margin, DRAWN + 2 * margin), np.float32)
        which = np.arange(len(rows))[:, None, None]
        for ball in np.moveaxis(flat[rows], 1, 0):
            corner = np.clip(np.rint(ball / pixel).astype(int) - window // 2, -margin, DRAWN)
            places = corner[:, :, None] + np.arange(window)
            near = ((((places + 0.5) * pixel - ball[:, :, None]) / RADIUS) ** 2).astype(np.float32)
            height = np.exp(-((near[:, 0, :, None] + near[:, 1, None, :]) ** 4))
            down, across = places[:, 0, :, None] + margin, places[:, 1, None, :] + margin
            total[which, down, across] += height
        seen = total[:, margin:-margin, margin:-margin]
        images[rows] = 255 * np.minimum(seen, 1)
    return images.reshape(*x.shape[:-2], DRAWN, DRAWN)


def chunks(rows: int, size: int = 1024) -> list[np.ndarray]:
    """Split the indices `0, ..., rows - 1` into chunks, so that temporary arrays stay small."""
    return np.array_split(np.arange(rows), max(1, -(-rows // size)))


@functools.cache
def shrinking(size: int, to: int) -> np.ndarray:
    """The matrix that resizes a line of pixels with triangle filters scaled to the new pixel spacing."""
    scale = size / to
    centre = (np.arange(to) + 0.5) * scale
    weight = np.maximum(0, 1 - np.abs(np.arange(size) + 0.5 - centre[:, None]) / max(scale, 1))
    return weight / weight.sum(axis=1, keepdims=True)


def resized(images: np.ndarray, to: int = PIXELS) -> np.ndarray:
    """Resize byte images bilinearly as Pillow does, and scale them to [0, 1].

    Rows are resized first, then columns. Values are rounded to bytes after each pass, and weights are
    multiples of $2^{-22}$.
    """
    matrix = np.floor(0.5 + shrinking(images.shape[-1], to) * 2**22) / 2**22
    flat = images.reshape(-1, *images.shape[-2:])
    out = np.empty((len(flat), to, to), np.float32)
    for rows in chunks(len(flat)):
        lines = np.floor(flat[rows] @ matrix.T + 0.5)
        out[rows] = np.floor(matrix @ lines + 0.5) / 255
    return out.reshape(*images.shape[:-2], to, to)
