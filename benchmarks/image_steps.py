"""Measure what fewer steps do to trained latent models of images, with frames interpolated in time.

Prints, for each model and number of RK4 steps, how far its pixels move (root mean square) and its errors:
for rotating MNIST on the training sequences, for the balls on new sequences.

    python benchmarks/image_steps.py
"""

import pathlib
from typing import Any

import equinox as eqx
import numpy as np

import shootax as sx
from shootax.data import Sequences, bouncing_balls, rotating_mnist
from shootax.data._rotating import HELD_OUT
from shootax.paper import _latent as latent
from shootax.paper._balls import AHEAD, FRAMES, SEEN

RESULTS = pathlib.Path(__file__).parents[1] / "docs" / "results"
SEED = 77  # gives sequences that occur neither in training nor in tests


def compare(path: str, sequences: Sequences, first: int, steps: Any, frames: Any) -> None:
    model = sx.load(RESULTS / path)
    before = latent.predictions(model, sequences, first)
    print(path)
    for number in steps:
        fewer = eqx.tree_at(lambda m: m.net.integrator, model, sx.RK4(number))
        after = latent.predictions(fewer, sequences, first)
        moved = np.sqrt(np.mean((after - before) ** 2))
        errors = latent.squared_errors(fewer, sequences, first)
        print(
            f"  {number:2} steps: moved {moved:.5f}, error of all frames {errors.mean():.6f}, "
            f"of frames {frames} {errors[:, frames].mean():.6f}"
        )


def main() -> None:
    digits, _ = rotating_mnist()
    for path in (
        "rotating-best/models/dynamic-particles-a10-k100-s0.safetensors",
        "rotating-smooth/models/dynamic-particles-a10-k100-s0.safetensors",
        "rotating-loose/models/static-direct-a10-s0.safetensors",
    ):
        compare(path, digits[:500], 1, (15, 10, 8, 6, 5, 4), [HELD_OUT])
    balls = bouncing_balls(300, frames=FRAMES, seed=SEED)
    path = "balls-best/models/dynamic-particles-a10-k50-s0.safetensors"
    compare(path, balls, SEEN, (19, 16, 13, 10, 8, 6), list(range(SEEN, SEEN + AHEAD)))


if __name__ == "__main__":
    main()
