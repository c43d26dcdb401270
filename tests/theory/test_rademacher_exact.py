"""Tiny classes of flows whose Rademacher complexity is found nearly exactly: all signs, and for each the
best control by Pontryagin's principle, written in NumPy without the library."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax import theory

STEPS = 40


def affine(sigma):
    """$\\dot z = A σ(z) + b$ for a state of one number."""

    def features(z, p):  # z, p: (signs, samples, 1); L_zᵀ p summed over samples
        g = np.stack([(p * sigma[0](z)).sum((1, 2)), p.sum((1, 2))], axis=-1)
        return g, np.array([1.0, 1.0])

    def velocity(z, theta):
        return theta[:, None, None, 0] * sigma[0](z) + theta[:, None, None, 1]

    def pulled(z, p, theta):  # ∂f/∂z ᵀ p
        return theta[:, None, None, 0] * sigma[1](z) * p

    return features, velocity, pulled


def updown(sigma):
    """UpDown with one visible and one hidden number, $w_3 = 10$."""
    s, ds = sigma

    def features(z, p):
        x, v, px, pv = z[..., 0], z[..., 1], p[..., 0], p[..., 1]
        terms = [px * s(v), px, pv * x, pv, pv * s(v)]
        return np.stack([t.sum(1) for t in terms], axis=-1), np.array([1, 1, 1, 1, 10.0])

    def velocity(z, theta):
        x, v = z[..., 0], z[..., 1]
        a, b, c, d, e = theta.T[:, :, None]
        return np.stack([a * s(v) + b, c * x + d + e * s(v)], axis=-1)

    def pulled(z, p, theta):
        v, px, pv = z[..., 1], p[..., 0], p[..., 1]
        a, _, c, _, e = theta.T[:, :, None]
        return np.stack([c * pv, ds(v) * (a * px + e * pv)], axis=-1)

    return features, velocity, pulled


def best_values(system, start, signs, B, starts, rng):
    """$\\max Σ_i ε_i z_i(1)$ for each vector of signs, over $|θ(t)|_M ≤ B$."""
    features, velocity, pulled = system
    h, best = 1 / STEPS, np.full(len(signs), -np.inf)
    z0 = np.broadcast_to(start, (len(signs), *start.shape))
    end = np.zeros((len(signs), *start.shape))
    end[..., 0] = signs
    _, M = features(z0, end)
    for _ in range(starts):
        theta = rng.normal(size=(len(signs), len(M)))
        theta = np.repeat((B * theta / np.sqrt((M * theta**2).sum(-1))[:, None])[None], STEPS, 0)
        for sweep in range(25):
            path = [z0]
            for k in range(STEPS):  # the midpoint rule
                middle = path[-1] + h / 2 * velocity(path[-1], theta[k])
                path.append(path[-1] + h * velocity(middle, theta[k]))
            best = np.maximum(best, (signs * (path[-1] - z0)[..., 0]).sum(1))
            p, wanted = end, np.empty_like(theta)
            for k in reversed(range(STEPS)):
                p = p + h * pulled(path[k + 1], p, theta[k])
                g = features(path[k], p)[0] / M
                wanted[k] = B * g / np.maximum(np.sqrt((M * g**2).sum(-1)), 1e-12)[:, None]
            mix = theta + (wanted - theta) / (1 + 0.2 * sweep)
            theta = mix * np.minimum(1, B / np.sqrt((M * mix**2).sum(-1) + 1e-30))[..., None]
    return best


SIGMA = {
    "tanh": (np.tanh, lambda v: 1 - np.tanh(v) ** 2),
    "relu": (lambda v: np.maximum(v, 0), lambda v: (v > 0) * 1.0),
}


def net_with_norm(kind, activation, B):
    if kind == "affine":
        field = sx.Affine(1, activation=activation)
        theta = {"A": jnp.zeros((1, 1)), "b": jnp.full(1, B)}
    else:
        field = sx.UpDown(1, 1, activation=activation)
        theta = {name: jnp.zeros(leaf.shape) for name, leaf in field.theta.items()}
        theta["b1"] = jnp.full(1, B)
    net = sx.Net(field, sx.Static(field, key=jax.random.key(0)), key=jax.random.key(1))
    return eqx.tree_at(lambda n: n.control.theta, net, theta)


@pytest.mark.parametrize("kind", ["affine", "updown"])
@pytest.mark.parametrize("activation", SIGMA)
def test_the_best_flows_are_below_the_bounds(kind, activation):
    rng, n = np.random.default_rng(0), 4
    x = rng.normal(size=(n, 1))
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    system = {"affine": affine, "updown": updown}[kind](SIGMA[activation])
    for B in (0.01, 0.3, 1.0):
        net = net_with_norm(kind, activation, B)
        start = np.asarray(net.lifted(jnp.asarray(x)))
        exact = best_values(system, start, signs, B, starts=2, rng=rng).mean() / n
        found = theory.rademacher(net, x)
        np.testing.assert_allclose(found.norm_squared, B**2)
        assert 0 < exact <= found.rigorous
        assert exact <= found.short
        if B == 0.01:
            # To first order the best control is constant, and its value E|h|/n has a closed form;
            # against that the bound loses √(π/2), Jensen's inequality and a little more.
            p = np.zeros((len(signs), *start.shape))
            p[..., 0] = signs
            g, M = system[0](np.broadcast_to(start, p.shape), p)
            first = B * np.sqrt((g**2 / M).sum(-1)).mean() / n
            np.testing.assert_allclose(exact, first, rtol=0.02)
            assert found.rigorous < 2 * first


def test_a_linear_readout_of_the_hidden_state_counts_it():
    """A linear map of the whole state sees the hidden part, too, whatever its class is called."""
    net = net_with_norm("updown", "tanh", 0.3)
    shown = eqx.tree_at(lambda n: n.readout, net, sx.nn.LinearReadout(1, 2, key=jax.random.key(0)))
    whole = eqx.tree_at(lambda n: n.readout, net, sx.nn.LinearReadout(2, 2, key=jax.random.key(0)))
    everything = eqx.tree_at(lambda n: n.readout, net, sx.nn.IdentityReadout())
    x = np.ones((3, 1))
    part, hidden, state = (theory.rademacher(n, x).vector for n in (shown, whole, everything))
    assert part < hidden == state
