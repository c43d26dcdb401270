"""What the theory does not cover gets a message that says what it needs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax import theory

KEY = jax.random.key(0)
X = np.ones((3, 2))
POINTS = np.array([[0.0, 1.0], [0.5, -0.5]])
GAP = functools.partial(theory.generalisation_bound, loss_lipschitz=1.0, loss_sup=1.0)


def cubed(z):
    return z**3


@functools.cache
def net(kind="affine"):
    if kind == "hidden":
        field = sx.SingleHiddenLayer(2, 3)
        return sx.Net(field, sx.Static(field, key=KEY), key=KEY)
    if kind == "damped":
        return sx.Net(sx.DampedUpDown(2, 2), particles=2, key=KEY)
    if kind == "cubed":
        return sx.Net(sx.Affine(2, activation=cubed), particles=2, key=KEY)
    field = sx.Affine(2, activation="tanh")
    if kind == "transport":
        control = sx.Particles.draw(field, 2, penalty=sx.Transport(), key=KEY)
        return sx.Net(field, control, key=KEY)
    if kind == "readout":
        return sx.Net(field, particles=2, readout=lambda z: z[:1] ** 2, key=KEY)
    return sx.Net(field, particles=2, key=KEY)


def still(t, x):
    return x


CASES = {
    "complexity of a field that is not linear": (
        lambda: theory.rademacher(net("hidden"), X),
        "not linear in θ. The theory needs a field",
    ),
    "gap of a field that is not linear": (lambda: GAP(net("hidden"), X), "not linear in θ"),
    "estimate without particles": (
        lambda: theory.rademacher_estimate(net("hidden"), X, key=KEY),
        "needs a net with a Particles control",
    ),
    "estimate of no net": (
        lambda: theory.rademacher_estimate("a net", X, key=KEY),
        "with one Net",
    ),
    "damping": (lambda: theory.rademacher(net("damped"), X), "has damping"),
    "another penalty": (
        lambda: theory.rademacher(net("transport"), X),
        "needs a quadratic penalty",
    ),
    "an activation without bounds": (
        lambda: theory.rademacher(net("cubed"), X),
        "activation 'cubed' are not known",
    ),
    "bounds that are none": (
        lambda: theory.rademacher(net("cubed"), X, activations="relu"),
        "a mapping from functions to ActivationBounds; got 'relu'",
    ),
    "no data": (lambda: theory.rademacher(net(), None), "theory needs data"),
    "empty data": (lambda: GAP(net(), np.ones((0, 2))), "theory needs data"),
    "one number": (lambda: theory.certify(net(), 3.0), "theory needs data"),
    "NaN": (lambda: theory.certify(net(), np.full((3, 2), np.nan)), "must be finite"),
    "infinity on the device": (
        lambda: theory.rademacher(net(), jnp.full((3, 2), jnp.inf)),
        "data in a bounded region",
    ),
    "another width": (lambda: theory.rademacher(net(), np.ones((3, 5))), r"shape \(batch, 2\)"),
    "no net": (lambda: theory.rademacher(None, X), "needs a single Net, got NoneType"),
    "all of space": (lambda: theory.certify(net(), X, radius=np.inf), "unbounded domain"),
    "a radius that is no number": (
        lambda: theory.certify(net(), X, radius=True),
        "positive, finite number, got True",
    ),
    "delta": (lambda: GAP(net(), X, delta=0.0), "between 0 and 1"),
    "delta as text": (lambda: GAP(net(), X, delta="0.05"), "delta must be a number"),
    "a loss without bound": (
        lambda: theory.generalisation_bound(net(), X, loss_lipschitz=1.0, loss_sup=np.inf),
        "loss_sup must be a positive, finite",
    ),
    "a readout that may be steep": (
        lambda: GAP(net("readout"), X),
        "Lipschitz constant of the readout",
    ),
    "no draws": (lambda: theory.rademacher_estimate(net(), X, draws=0, key=KEY), "draws must be"),
    "no iterations": (
        lambda: theory.rademacher_estimate(net(), X, iterations=0, key=KEY),
        "iterations must be",
    ),
    "uphill backwards": (
        lambda: theory.rademacher_estimate(net(), X, learning_rate=-1, key=KEY),
        "learning_rate must be",
    ),
    "no such component": (
        lambda: theory.rademacher_estimate(net(), X, component=2, key=KEY),
        "integer from 0 to 1",
    ),
    "no key": (lambda: theory.rademacher_estimate(net(), X, key=3), "JAX random key"),
    "no vector field": (
        lambda: theory.approximate_flow("vortex", POINTS),
        r"function velocity\(t, x\)",
    ),
    "no states": (lambda: theory.approximate_flow(still, None), "initial states of shape"),
    "states that are not finite": (
        lambda: theory.approximate_flow(still, np.full((2, 2), np.inf)),
        "x must be finite",
    ),
    "a vector field that is not finite": (
        lambda: theory.approximate_flow(lambda t, x: x * np.nan, POINTS),
        "not finite at t = 0",
    ),
    "velocities of another shape": (
        lambda: theory.approximate_flow(lambda t, x: x[:, :1], POINTS),
        "velocities of the same shape",
    ),
    "no slices": (lambda: theory.approximate_flow(still, POINTS, slices=0), "slices must be"),
    "weights that are no path": (
        lambda: theory.updown_from_hidden_layer(3),  # pyright: ignore
        "a function from a time",
    ),
    "no pieces": (lambda: theory.updown_from_pieces([], []), "at least one function"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_message_says_what_is_needed(case):
    call, message = CASES[case]
    with pytest.raises((ValueError, TypeError), match=message):
        call()
