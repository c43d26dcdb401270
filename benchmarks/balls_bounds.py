"""Measure what bounds the error on bouncing balls: the images, the dynamics, or chaos.

    python benchmarks/balls_bounds.py [--json FILE] [--quick]

Errors are per pixel, for each of the ten frames after the three that a model sees, on the test sequences:

- *autoencoder*: every frame is encoded to 50 numbers and decoded again, by the encoder and decoder of the
  recipe `best`. A latent model cannot be better than this in the first frame ahead.
- *dynamics*: a net moves the true positions and velocities from the third frame on, and the true renderer
  draws the result. No image is encoded.
- *straight lines*: the same with constant velocities instead of a net: balls go through walls and each
  other.
- *chaos*: the true simulation from positions that are off by 0.05 and 0.2 (a pixel is 0.36).
"""

import argparse
import json
import pathlib
from typing import Any

import jax
import numpy as np

import shootax as sx
from shootax.data import ball_paths, bouncing_balls
from shootax.data._balls import SUBSTEPS, Paths, collided, drawn, off_walls, resized
from shootax.nn import ImageDecoder, ImageEncoder, LatentModel
from shootax.paper._balls import AHEAD, SEEN, TEST, TRAINING, VALIDATION

DIM, CHANNELS = 50, (8, 16, 32)
TESTED = slice(SEEN, SEEN + AHEAD)


def autoencoder(training: int, epochs: int, test: int) -> np.ndarray:
    """Errors of the ten frames, each encoded and decoded separately."""
    keys = jax.random.split(jax.random.key(0), 3)
    net = sx.Net(sx.UpDown(dim=DIM, inflation=1), particles=1, key=keys[0])
    encoder = ImageEncoder(DIM, frames=1, channels=CHANNELS, norm="layer", key=keys[1])
    decoder = ImageDecoder(DIM, channels=CHANNELS[::-1], norm="layer", key=keys[2])
    model = LatentModel(encoder, net, decoder, [0.0])  # at time 0 the net has not moved the state
    frames = bouncing_balls(training, seed=TRAINING).frames[:, ::4].reshape(-1, 1, 28, 28)
    held_out = bouncing_balls(max(test // 5, 2), seed=VALIDATION).frames[:, TESTED]
    held_out = held_out.reshape(-1, 1, 28, 28)
    fitted = sx.fit(
        model,
        frames,
        frames,
        epochs=epochs,
        batch_size=200,
        data_strength=100.0,
        penalty_strength=1e-4,
        optimizer=sx.Optimizer(0.005, schedule=sx.Cosine(warmup=0.05), clip=10.0),
        validation=sx.Validation((held_out, held_out), keep_best=True),
    ).net
    seen = bouncing_balls(test, seed=TEST).frames[:, TESTED]
    found = np.concatenate([np.asarray(fitted(some[:, None])) for some in seen])
    return np.mean((found.reshape(seen.shape) - seen) ** 2, axis=(0, 2, 3))


def dynamics(training: int, epochs: int, test: int) -> np.ndarray:
    """Errors of the ten frames, predicted from the true positions and velocities at the third frame."""
    net = sx.Net(
        sx.UpDown(dim=12, inflation=20),
        particles=50,
        integrator=sx.RK4(steps=AHEAD),
        key=jax.random.key(0),
    )
    x, y = states(ball_paths(training, seed=TRAINING))
    times = np.arange(1, AHEAD + 1) / AHEAD
    fitted = sx.fit(
        net,
        x,
        y,
        times=times,
        epochs=epochs,
        batch_size=100,
        data_strength=100.0,
        penalty_strength=1e-4,
        optimizer=sx.Optimizer(0.005, schedule=sx.Cosine(warmup=0.05), clip=10.0),
        validation=sx.Validation(states(ball_paths(500, seed=VALIDATION)), keep_best=True),
    ).net
    paths = ball_paths(test, seed=TEST)
    found = np.asarray(fitted(states(paths)[0], times), float)
    return rendered_errors(5 + 5 * found[..., :6].reshape(test, AHEAD, 3, 2), paths)


def states(paths: Paths) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities at the third frame and at the ten frames after it, scaled to order one."""
    both = np.concatenate([(paths.x - 5) / 5, 4 * paths.v], axis=2)
    flat = both.reshape(*both.shape[:2], 12)
    return flat[:, SEEN - 1], flat[:, TESTED]


def straight_lines(test: int) -> np.ndarray:
    """Errors of the ten frames if balls bounce off neither walls nor each other."""
    paths = ball_paths(test, seed=TEST)
    ahead = np.arange(1, AHEAD + 1)[:, None, None]
    return rendered_errors(paths.x[:, SEEN - 1, None] + ahead * paths.v[:, SEEN - 1, None], paths)


def chaos(test: int, off: float) -> np.ndarray:
    """Errors of the ten frames of the true simulation, started from positions that are `off` at the
    third."""
    paths = ball_paths(test, seed=TEST)
    x, v = paths.x[:, SEEN - 1], paths.v[:, SEEN - 1]
    x = x + off * np.random.default_rng(0).normal(size=x.shape)
    found = []
    for _ in range(AHEAD):
        for _ in range(SUBSTEPS):
            x = x + v / SUBSTEPS
            v = collided(x, off_walls(x, v))
        found.append(x)
    return rendered_errors(np.stack(found, axis=1), paths)


def rendered_errors(found: np.ndarray, paths: Paths) -> np.ndarray:
    """Errors per pixel of the frames rendered from positions at the ten frames."""
    wrong = resized(drawn(found)).astype(float) - resized(drawn(paths.x[:, TESTED]))
    return np.mean(wrong**2, axis=(0, 2, 3))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=pathlib.Path, help="file to write the errors to")
    parser.add_argument("--quick", action="store_true", help="use few sequences and epochs")
    given = parser.parse_args()
    training, coded, moved, test = (40, 1, 1, 10) if given.quick else (10_000, 40, 100, 500)
    parts: dict[str, Any] = {
        "straight lines": lambda: straight_lines(test),
        "chaos, positions off by 0.05": lambda: chaos(test, 0.05),
        "chaos, positions off by 0.2": lambda: chaos(test, 0.2),
        "dynamics": lambda: dynamics(training, moved, test),
        "autoencoder": lambda: autoencoder(training, coded, test),
    }
    found = {}
    for name, measure in parts.items():
        found[name] = [float(error) for error in measure()]
        steps = " ".join(f"{error:.4f}" for error in found[name])
        print(f"{name}: mean {np.mean(found[name]):.4f}; by frame {steps}", flush=True)
        if given.json is not None:
            given.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
