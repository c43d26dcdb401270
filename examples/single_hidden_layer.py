"""A field that is nonlinear in its weights: a single hidden layer fits functions of one variable.

θ*(t) is a maximum of the Hamiltonian, which has many, so the result of training depends on its start.
Here, training starts from the momenta that the theory predicts for its end: p = -c ∂loss/∂z, which pulls
each particle towards its target.
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx
from shootax.data import FUNCTIONS, sample_function

PARTICLES, WIDTH = 15, 4
PULL = 0.12


def build(target, *, key: jax.Array) -> sx.Net:
    """Build a net whose states (x, v) start at v = 0 and whose output is the final v."""
    drawn, lift_key, net_key = jax.random.split(key, 3)
    x = jnp.linspace(-1.5, 1.5, PARTICLES)
    wanted = target(x) - jnp.mean(target(x))
    q, p = jnp.stack([x, 0 * x], axis=1), jnp.stack([0 * x, wanted], axis=1)
    noise = jax.random.normal(drawn, (2, PARTICLES, 2))
    ensemble = sx.Ensemble(q + 0.02 * noise[0], PULL * (p + 0.1 * noise[1]))
    field = sx.SingleHiddenLayer(2, WIDTH, activation="tanh")
    control = sx.Particles(
        field,
        ensemble,
        # A small penalty on incoming weights makes neurons sharp, each at its own maximum.
        penalty=sx.Quadratic(theta2=0.001, b2=0.001),
        maximiser=sx.maximisers.PerNeuron(
            spread=4.0, seed=int(jax.random.randint(drawn, (), 0, 10**6))
        ),
    )
    net = sx.Net(
        field,
        control,
        lift=sx.nn.AffineLift(1, 1, key=lift_key),
        readout=sx.nn.LinearReadout(2, 1, key=net_key),
        integrator=sx.Heun(10),
        key=net_key,
    )
    return eqx.tree_at(
        lambda net: (net.lift.weight, net.lift.bias, net.readout.weight, net.readout.bias),
        net,
        (jnp.zeros((1, 1)), jnp.zeros(1), jnp.array([[0.0, 1.0]]), jnp.zeros(1)),
    )


def run(function: str, *, epochs: int = 150, seed: int = 0) -> float:
    """Train one net on 500 samples, keep its best epoch on 200 others, and return the error on a grid."""
    (x, y), (held, seen) = (sample_function(function, n, 10 + n) for n in (500, 200))
    mean, scale = y.mean(), y.std()
    net = build(lambda x: (FUNCTIONS[function](x) - mean) / scale, key=jax.random.key(seed))
    options = {
        "optimizer": sx.Optimizer(5e-4, clip=0.1),
        "validation": sx.Validation((held, (seen - mean) / scale), keep_best=True),
        "seed": seed,
    }
    try:
        net = sx.fit(net, x, (y - mean) / scale, epochs=epochs, **options).net
    except sx.DivergedError as error:
        net = error.result.net
    grid = np.linspace(-1.5, 1.5, 1000)[:, None]
    return float(np.mean((np.asarray(net(grid)) * scale + mean - FUNCTIONS[function](grid)) ** 2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(parser.parse_args().seeds)
    for function in ("quadratic", "cubic"):
        spread = float(np.var(FUNCTIONS[function](np.linspace(-1.5, 1.5, 1000))))
        errors = ", ".join(f"{run(function, seed=seed):.4f}" for seed in seeds)
        print(f"{function} function, variance {spread:.3f}: errors {errors}", flush=True)


if __name__ == "__main__":
    main()
