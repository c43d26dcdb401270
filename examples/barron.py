"""A single hidden layer of ReLUs with the Barron penalty fits a function of one variable.

At a maximum of the Hamiltonian, the neurons have their kinks at particles, and jump from one particle to
the next as momenta change. Gradients do not see jumps, so training takes only small steps, from the best
of many starts. A start has momenta that solve a kernel regression of the targets, of random strength and
with noise.
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

import shootax as sx
from shootax.data import FUNCTIONS, sample_function

PARTICLES, WIDTH = 15, 16
STARTS, TRAINED = 1000, 2
FIELD = sx.SingleHiddenLayer(2, WIDTH, activation="relu")
KNOTS = jnp.linspace(-1.5, 1.5, PARTICLES)


def ensemble(key: Array, target) -> sx.Ensemble:
    """Particles along x with v = 0, whose momenta pull v towards the targets."""
    keys = jax.random.split(key, 4)
    ridge = 10 ** jax.random.uniform(keys[0], minval=-3, maxval=0)
    strength = 10 ** jax.random.uniform(keys[1], minval=-2.9, maxval=-1.1)
    rows = jax.random.laplace(keys[2], (4000, 2))
    features = jax.nn.relu(jnp.stack([KNOTS, jnp.ones(PARTICLES)], axis=1) @ rows.T)
    kernel = features @ features.T / jnp.mean(jnp.abs(rows)) ** 2 / 16_000
    p = jnp.linalg.solve(kernel + ridge * jnp.eye(PARTICLES), target(KNOTS))
    p = p / jnp.max(jnp.abs(p))
    noise = jax.random.normal(keys[3], (2, PARTICLES, 2))
    still = jnp.zeros(PARTICLES)
    q, p = jnp.stack([KNOTS, still], axis=1), jnp.stack([still, p], axis=1)
    return sx.Ensemble(q + 0.03 * noise[0], strength * (p + 0.1 * noise[1]))


def build(particles: sx.Ensemble, weight: Array, bias: Array) -> sx.Net:
    """Build a net whose states (x, v) start at v = 0 and whose output is affine in the final state."""
    key = jax.random.key(0)
    control = sx.Particles(FIELD, particles, penalty=sx.Barron())
    net = sx.Net(
        FIELD,
        control,
        lift=sx.nn.AffineLift(1, 1, key=key),
        readout=sx.nn.LinearReadout(2, 1, key=key),
        integrator=sx.Heun(10),
        key=key,
    )
    return eqx.tree_at(
        lambda net: (net.lift.weight, net.lift.bias, net.readout.weight, net.readout.bias),
        net,
        (jnp.zeros((1, 1)), jnp.zeros(1), weight, bias),
    )


def best_starts(key: Array, x: Array, y: Array, target) -> list[sx.Net]:
    """The best of many untrained nets, with readouts fitted by least squares."""
    keys = jax.random.split(key, STARTS)

    @jax.jit
    def judged(key: Array) -> tuple[Array, Array]:
        net = build(ensemble(key, target), jnp.zeros((1, 2)), jnp.zeros(1))
        ends = jnp.concatenate([net.states(x), jnp.ones_like(x)], axis=1)
        solved = jnp.linalg.solve(ends.T @ ends + 1e-2 * jnp.eye(3), ends.T @ y)[:, 0]
        error = jnp.mean((ends @ solved - y[:, 0]) ** 2)
        return jnp.where(jnp.max(jnp.abs(solved)) < 50, error, jnp.inf), solved

    errors, readouts = map(np.array, zip(*[judged(key) for key in keys], strict=True))
    errors[np.isnan(errors)] = np.inf
    return [
        build(
            ensemble(keys[i], target),
            jnp.asarray(readouts[i][None, :2]),
            jnp.asarray(readouts[i][2:]),
        )
        for i in np.argsort(errors)[:TRAINED]
    ]


def run(function: str = "quadratic", *, epochs: int = 100, seed: int = 0) -> float:
    """Train from the best starts, keep the best net on held-out samples, and return its error on a
    grid."""
    (x, y), (held, seen) = (sample_function(function, n, 10 + n) for n in (500, 200))
    mean, scale = y.mean(), y.std()
    starts = best_starts(
        jax.random.key(seed),
        jnp.asarray(x),
        jnp.asarray((y - mean) / scale),
        lambda x: (FUNCTIONS[function](x) - mean) / scale,
    )
    fits = sx.fit_many(
        starts,
        x,
        (y - mean) / scale,
        epochs=epochs,
        optimizer=sx.Optimizer(3e-5, clip=0.3),
        validation=sx.Validation((held, (seen - mean) / scale), keep_best=True),
        together=False,
    )
    fits = [fit.result if isinstance(fit, sx.DivergedError) else fit for fit in fits]
    best = min(fits, key=lambda fit: fit.history["validation"].min(initial=np.inf)).net
    grid = np.linspace(-1.5, 1.5, 1000)[:, None]
    return float(np.mean((np.asarray(best(grid)) * scale + mean - FUNCTIONS[function](grid)) ** 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    spread = float(np.var(FUNCTIONS["quadratic"](np.linspace(-1.5, 1.5, 1000))))
    print(f"quadratic function, variance {spread:.3f}")
    for seed in range(parser.parse_args().seeds):
        print(f"seed {seed}: error {run(seed=seed):.4f}", flush=True)


if __name__ == "__main__":
    main()
