"""Small data sets for the open questions."""

import functools
from typing import NamedTuple

import numpy as np

from shootax.data import annuli, sample_function


class Split(NamedTuple):
    """Training and test data. Targets are class indices if `classes` is not 0."""

    x: np.ndarray
    y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    classes: int

    @property
    def loss(self) -> str:
        return "cross_entropy" if self.classes else "mse"


def losses(found: np.ndarray, y: np.ndarray, classes: int) -> tuple[float, float]:
    """The mean loss of outputs, and the share of wrong classes or, for regression, the mean squared error
    relative to the variance of the targets."""
    if not classes:
        error = float(np.mean((found - y) ** 2))
        return error, error / float(np.mean((y - y.mean(axis=0)) ** 2))
    shifted = found - found.max(axis=1, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-logs[np.arange(len(y)), y].mean()), float(np.mean(found.argmax(axis=1) != y))


SPIRAL = np.array([[-0.1, 2.0], [-2.0, -0.1]])
SPIRAL_TIME = 0.5
"""The time from input to target in the equation of the spiral, $\\dot x = A x^3$."""


@functools.cache
def spiral_map(samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw states in $[-1.5, 1.5]^2$, and compute their images under the spiral's flow by RK4."""
    x = np.random.default_rng(seed).uniform(-1.5, 1.5, (samples, 2))
    z, h = x, SPIRAL_TIME / 200

    def rate(z: np.ndarray) -> np.ndarray:
        return z**3 @ SPIRAL

    for _ in range(200):
        a = rate(z)
        b = rate(z + h / 2 * a)
        c = rate(z + h / 2 * b)
        z = z + h / 6 * (a + 2 * b + 2 * c + rate(z + h * c))
    return x, z


def regression(name: str, samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw inputs and targets. `"function"` is the paper's quadratic-like function, and `"spiral"` is
    `spiral_map`."""
    return (
        sample_function("quadratic", samples, seed)
        if name == "function"
        else spiral_map(samples, seed)
    )


@functools.cache
def real_task(name: str, training: int, width: int) -> Split:
    """Load a task with a fixed split: `"digits"` (odd or even) or `"cancer"` from scikit-learn, as their
    first principal components scaled to unit variance, or `"spiral"` padded with zeros."""
    if name == "spiral":
        x, y = spiral_map(2 * training, 5001)
        x = np.pad(x, ((0, 0), (0, width - 2)))
        return Split(x[:training], y[:training], x[training:], y[training:], 0)
    from sklearn import datasets

    load = {"digits": datasets.load_digits, "cancer": datasets.load_breast_cancer}[name]
    x, y = load(return_X_y=True)
    order = np.random.default_rng(5001).permutation(len(x))
    x, y = x[order], y[order] % 2
    split = min(training, 2 * len(x) // 3)
    mean, std = x[:split].mean(axis=0), x[:split].std(axis=0)
    x = (x - mean) / np.where(std > 0, std, 1.0)
    _, values, directions = np.linalg.svd(x[:split], full_matrices=False)
    x = x @ directions[:width].T / values[:width] * np.sqrt(split)
    return Split(x[:split], y[:split], x[split:], y[split:], 2)


NOISE = {"function": 0.2, "circles": 0.15}
"""The standard deviation of noise on targets, and the share of flipped labels."""


@functools.cache
def noisy_task(name: str, samples: int, noise: bool, seed: int) -> Split:
    """Draw training data of one seed, with or without noise on the targets, and test data without."""
    rng = np.random.default_rng([seed, samples, 1])
    first = 10_000 + seed
    if name == "function":
        x, y = sample_function("quadratic", samples, first)
        noisy = y + NOISE[name] * rng.normal(size=y.shape) if noise else y
        return Split(x, noisy, *sample_function("quadratic", 1000, 9_999), 0)
    x, y = _circles(samples, first)
    flipped = rng.random(samples) < NOISE[name]
    return Split(x, np.where(flipped, 1 - y, y) if noise else y, *_circles(999, 9_999), 2)


def _circles(samples: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw points in random order, a third of them in the disc."""
    x, y = annuli(samples // 3, samples - samples // 3, seed=seed)
    order = np.random.default_rng(seed).permutation(samples)
    return x[order], y[order]
