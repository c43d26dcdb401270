"""Shooting in discrete time on handwritten digits: is the trained network optimal, layer by layer?

A residual network $z_{k+1} = z_k + h f(z_k, θ_k)$ classifies digits, and its energy is

    E = Σ_k h R(θ_k) + γ · mean cross-entropy + |W|²/2

where W are the weights of the linear readout.

With a particle on every training sample and symplectic Euler, a trained shooting network is a critical
point of E over the weights of *all layers*, although only the momenta at the first layer were trained.
This example trains the network to convergence. Before and after training, it computes the gradient of E
with respect to the weights of every layer, written out without shootax. For comparison, it does the same
with fewer particles than samples, and with a network of free layers trained by Adam. Needs scikit-learn
and SciPy.
"""

import argparse
import json
import pathlib
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import scipy.optimize
from jax.flatten_util import ravel_pytree
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

import shootax as sx

LAYERS, T, GAMMA = 10, 1.0, 20.0
NAMES = {
    "symplectic": "shooting, symplectic Euler, a particle on every sample",
    "few": "shooting, symplectic Euler, fewer particles",
    "free": "free layers, Adam",
}
# Iterations of BFGS, at most; for free layers, steps of Adam.
ITERATIONS = {"symplectic": 2500, "few": 2500, "free": 800}
COLOURS = {"symplectic": "#009E73", "few": "#56B4E9", "free": "#CC79A7"}


def digits(samples: int, dim: int):
    """The first principal components of 8×8 images, scaled to an average variance of 1."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(images))
    images, labels = images[order], labels[order]
    pca = PCA(dim, random_state=0).fit(images[:samples])
    features = pca.transform(images)
    features = features / features[:samples].std()
    train, test = slice(0, samples), slice(samples, None)
    return (features[train], labels[train]), (features[test], labels[test])


def misfit(logits, labels):
    """γ times the mean cross-entropy."""
    logs = jax.nn.log_softmax(logits)
    return -GAMMA * jnp.mean(jnp.take_along_axis(logs, labels[:, None], axis=1))


def build(kind: str, x, *, key):
    """Build a network with particles on the samples, or with free layers."""
    field = sx.Affine(dim=x.shape[1], activation="tanh")
    keys = jax.random.split(key, 3)
    integrator = sx.Euler(LAYERS) if kind == "free" else sx.SymplecticEuler(LAYERS)
    if kind == "free":
        control = sx.Piecewise(field, LAYERS, T=T, key=keys[0])
    else:
        chosen = x[: len(x) // 10] if kind == "few" else x
        momentum = 1.0 / np.sqrt(len(chosen))
        control = sx.Particles(field, sx.Ensemble.on(chosen, momentum=momentum, key=keys[0]), T=T)
    return sx.Net(field, control, integrator=integrator, readout=10, key=keys[1])


def energy(net, x, y):
    ridge = (jnp.sum(net.readout.weight**2) + jnp.sum(net.readout.bias**2)) / 2
    return sx.penalty(net) + misfit(net(x), y) + ridge


def trainable(net, kind: str):
    """Split a network into trained and fixed arrays. Momenta and readout are trained, and the positions
    of few particles, too. If each sample has a particle, the positions are the data and stay fixed."""
    places = [lambda n: n.control.ensemble.p]
    if kind == "few":
        places.append(lambda n: n.control.ensemble.q)
    chosen = jax.tree.map(lambda _: False, net)
    for place in (*places, lambda n: n.readout.weight, lambda n: n.readout.bias):
        chosen = eqx.tree_at(place, chosen, True)
    return eqx.partition(net, chosen)


def converged(net, x, y, kind: str, iterations: int):
    """Minimise the energy by BFGS; return the net, the largest entry of the remaining gradient and the
    number of iterations."""
    moving, fixed = trainable(net, kind)
    start, unravel = ravel_pytree(moving)
    slope = jax.jit(jax.value_and_grad(lambda v: energy(eqx.combine(unravel(v), fixed), x, y)))

    def both(v):
        value, gradient = slope(jnp.asarray(v))
        value, gradient = float(value), np.asarray(gradient)
        return (value, gradient) if np.isfinite(value) else (1e6, np.zeros_like(gradient))

    options = {"maxiter": iterations, "gtol": 1e-8}
    found = scipy.optimize.minimize(both, start, jac=True, method="BFGS", options=options)
    net = eqx.combine(unravel(jnp.asarray(found.x)), fixed)
    return net, float(np.abs(found.jac).max()), int(found.nit)


def trained(net, x, y, steps: int):
    """Train free layers by `steps` steps of Adam on the same energy, as networks are usually trained;
    return the same values as `converged`."""
    adam = optax.adam(optax.cosine_decay_schedule(0.01, steps))
    moving, fixed = eqx.partition(net, eqx.is_inexact_array)

    @jax.jit
    def run(moving):
        def step(carry, _):
            moving, state = carry
            gradient = jax.grad(lambda m: energy(eqx.combine(m, fixed), x, y))(moving)
            updates, state = adam.update(gradient, state)
            return (optax.apply_updates(moving, updates), state), None

        return jax.lax.scan(step, (moving, adam.init(moving)), None, steps)[0][0]

    net = eqx.combine(run(moving), fixed)
    slope = eqx.filter_grad(energy)(net, x, y)
    return net, max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(slope)), steps


def weights(net):
    """The weights of every layer: free weights, or those that the particles generate."""
    if isinstance(net.control, sx.Piecewise):
        return net.control.theta
    return jax.tree.map(lambda leaf: leaf[:, 0], sx.bake(net).control.theta)


def layer_gradients(net, x, y):
    """For each layer, the norm of the gradient of the energy with respect to its weights, relative to
    the norm of the gradient of its penalty alone. It is computed without shootax."""
    h = T / LAYERS

    def free(thetas):
        z, cost = x, 0.0
        for k in range(LAYERS):
            A, b = thetas["A"][k], thetas["b"][k]
            cost = cost + h * (jnp.sum(A**2) + jnp.sum(b**2)) / 2
            z = z + h * (jnp.tanh(z) @ A.T + b[None])
        return cost + misfit(z @ net.readout.weight.T + net.readout.bias[None], y)

    def norms(tree):
        return np.sqrt(np.sum(tree["A"] ** 2, axis=(1, 2)) + np.sum(tree["b"] ** 2, axis=1))

    thetas = weights(net)
    gradient = jax.jit(jax.grad(free))(thetas)
    return (norms(gradient) / norms({name: h * leaf for name, leaf in thetas.items()})).tolist()


def run(
    kind: str, *, samples: int = 50, dim: int = 8, iterations: int | None = None, seed: int = 0
):
    """Train one kind of network, and return its measurements before and after training."""
    iterations = ITERATIONS[kind] if iterations is None else iterations
    (x, y), (x_test, y_test) = digits(samples, dim)
    x, y = jnp.asarray(x), jnp.asarray(y)
    net = build(kind, x, key=jax.random.key(seed))
    out = {"kind": kind, "seed": seed, "samples": samples, "parameters": sx.count(net)}
    out |= {"before": layer_gradients(net, x, y), "energy_before": float(energy(net, x, y))}
    began = time.process_time()
    if kind == "free":
        net, left, steps = trained(net, x, y, iterations)
    else:
        net, left, steps = converged(net, x, y, kind, iterations)
    scores = np.asarray(net(jnp.asarray(x_test)))
    return out | {
        "after": layer_gradients(net, x, y),
        "energy": float(energy(net, x, y)),
        "gradient_left": left,
        "steps": steps,
        "train_accuracy": float(np.mean(np.asarray(net(x)).argmax(axis=1) == np.asarray(y))),
        "test_accuracy": float(np.mean(scores.argmax(axis=1) == y_test)),
        "processor_seconds": time.process_time() - began,
    }


def draw(runs, path: pathlib.Path):
    """Plot the gradients of all layers before and after training, with seeds as thin lines."""
    figure, axes = sx.plots.new_figure(1, 2, 7.2, 3.2)
    for axis, when in zip(axes[0], ("before", "after"), strict=True):
        for found in runs:
            label = NAMES[found["kind"]] if found["seed"] == 0 and when == "after" else None
            axis.semilogy(found[when], "o-", ms=3, lw=1, color=COLOURS[found["kind"]], label=label)
        axis.set(title=f"{when} training", xlabel="layer")
    low = min(min(found["after"]) for found in runs) / 3
    high = 3 * max(max(found["before"]) for found in runs)
    for axis in axes[0]:
        axis.set_ylim(low, high)
    axes[0, 0].set_ylabel("relative gradient of the energy")
    figure.legend(loc="outside lower center", fontsize=7, frameon=False, ncols=2)
    return sx.plots.save_figure(figure, path, "discrete-digits")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path)
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    runs = []
    for seed in range(arguments.seeds):
        for kind, name in NAMES.items():
            found = run(kind, seed=seed, samples=arguments.samples)
            runs.append(found)
            print(
                f"{name}: relative gradient {max(found['before']):.1e} before, {max(found['after']):.1e} "
                f"after; energy {found['energy']:.5f}; {100 * found['test_accuracy']:.1f} % of held-out "
                f"digits; {found['processor_seconds']:.0f} s",
                flush=True,
            )
            if arguments.out is not None:
                arguments.out.mkdir(parents=True, exist_ok=True)
                (arguments.out / "runs.json").write_text(json.dumps(runs, indent=1) + "\n")
                draw(runs, arguments.out)


if __name__ == "__main__":
    main()
