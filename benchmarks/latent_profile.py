"""Measure where the time of a training step of a latent model goes.

python benchmarks/latent_profile.py [rotating-mnist] [bouncing-balls]
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from shootax import penalty
from shootax.nn import LatentModel
from shootax.nn._latent import decoded
from shootax.paper import EXPERIMENTS, make_settings
from shootax.sweeps import thread_environment

STEPS, REPEATS = 3, 5


def profile(name: str, formulation: str = "dynamic-particles") -> dict[str, float]:
    """Milliseconds of processor time for value and gradient of each part, at the paper's size.

    The parts run inside a loop, as they do in training.
    """
    experiment: Any = EXPERIMENTS[name]
    settings = make_settings(experiment, "paper", formulations=[formulation])
    (configuration,) = experiment.configurations(settings)
    model: LatentModel = experiment.net(settings, configuration, 0)
    options = settings.options
    batch, first = options["batch_size"], options["first"]
    frames = len(model.times) - options.get("hidden_frames", -1) - 1
    keys = jax.random.split(jax.random.key(0), 3)
    images = jax.random.uniform(keys[0], (batch, first, 28, 28))
    points = jax.random.normal(keys[1], (batch, options["dim"]))
    path = jax.random.normal(keys[2], (batch, frames, options["dim"]))
    return {
        "encoder": milliseconds(lambda part, x: jnp.mean(part(x) ** 2), model.encoder, images),
        "net": milliseconds(
            lambda part, z: jnp.mean(part(z, model.times) ** 2) + penalty(part), model.net, points
        ),
        "decoder": milliseconds(
            lambda part, z: jnp.mean(decoded(part, z) ** 2), model.decoder, path
        ),
    }


def milliseconds(loss: Callable[[Any, Any], Any], part: Any, x: Any) -> float:
    """The smallest time of a part's value and gradient with respect to its parameters and its input."""
    parameters, static = eqx.partition(part, eqx.is_inexact_array)

    def value(parameters: Any, x: Any) -> Any:
        return loss(eqx.combine(parameters, static), x)

    @jax.jit
    def steps(parameters: Any, x: Any) -> Any:
        def step(carry: tuple, _: None) -> tuple[tuple, None]:
            slopes = jax.grad(value, argnums=(0, 1))(*carry)
            return jax.tree.map(lambda a, b: a - 1e-6 * b, carry, slopes), None

        return jax.lax.scan(step, (parameters, x), None, length=STEPS)[0]

    jax.block_until_ready(steps(parameters, x))
    times = []
    for _ in range(REPEATS):
        began = time.process_time()
        jax.block_until_ready(steps(parameters, x))
        times.append(time.process_time() - began)
    return 1000 * min(times) / STEPS


def main() -> None:
    """Print the shares for both experiments, with one thread."""
    for name in sys.argv[1:] or ("rotating-mnist", "bouncing-balls"):
        found = profile(name)
        total = sum(found.values())
        shares = [f"{part} {value:.1f} ms ({value / total:.0%})" for part, value in found.items()]
        print(f"{name}: {', '.join(shares)}; together {total:.0f} ms", flush=True)


if __name__ == "__main__":
    if (
        "SHOOTAX_ONE_THREAD" not in os.environ
    ):  # the number of threads must be set before JAX starts
        env = {**thread_environment(os.environ), "SHOOTAX_ONE_THREAD": "1"}
        sys.exit(subprocess.run([sys.executable, *sys.argv], env=env).returncode)
    main()
