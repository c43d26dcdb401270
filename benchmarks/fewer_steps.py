"""Measure what fewer steps do to the plain network baked from the trained rotating-MNIST block.

python benchmarks/fewer_steps.py
"""

import pathlib

import jax.numpy as jnp

import shootax as sx
from shootax.data import rotating_mnist
from shootax.paper import _latent as latent

MODELS = pathlib.Path(__file__).parents[1] / "docs" / "results" / "rotating-best" / "models"


def main() -> None:
    model = sx.load(MODELS / "dynamic-particles-a10-k100-s0.safetensors")
    _, test = rotating_mnist()
    points = model.encoder(latent.inputs(model, test, 1))
    live = model.net(points)
    for steps in (15, 10, 8, 5, 4, 3):
        ends = sx.bake(model.net, integrator=sx.RK4(steps))(points)
        moved = jnp.max(jnp.abs(ends - live)) / jnp.max(jnp.abs(live))
        error = jnp.mean((model.decoder(ends) - test.frames[:, -1]) ** 2)
        print(f"{steps:2} steps: difference {moved:.1e}, error of the last frame {error:.6f}")


if __name__ == "__main__":
    main()
