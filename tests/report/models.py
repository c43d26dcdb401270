"""Small models of every kind that a report can be about, with data."""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx

KEY = jax.random.key(0)
STEPS = sx.RK4(steps=5)
HOSTILE = "<script>alert(1)</script>"


def rng():
    return np.random.default_rng(0)


@functools.cache
def regression():
    """Net, inputs, targets."""
    x = rng().uniform(-1, 1, (30, 1))
    net = sx.Net(sx.UpDown(1, 3, activation="tanh"), particles=2, integrator=STEPS, key=KEY)
    return net, x, x**2


@functools.cache
def classes():
    x = rng().normal(size=(40, 2))
    y = (np.hypot(*x.T) > 1).astype(int)
    field = sx.UpDown(2, 2, activation="tanh")
    net = sx.Net(field, particles=3, readout=2, integrator=STEPS, key=KEY)
    return net, x, y


@functools.cache
def sequences():
    """A net whose depth is time; targets `(samples, times, features)`."""
    x = rng().normal(size=(6, 2))
    field = sx.UpDown(2, 1, activation="tanh")
    net = sx.Net(field, particles=2, integrator=STEPS, key=KEY)
    times = np.linspace(0, 1, 6)
    y = np.stack([x * np.cos(t) for t in times], axis=1)
    return net, x, y


class Mean(eqx.Module):
    """Frames to a point of two numbers."""

    weight: jax.Array

    def __call__(self, frames):
        return jnp.tensordot(frames.reshape(frames.shape[0], -1), self.weight, axes=1)


class Paint(eqx.Module):
    """Points to frames of 4 × 4."""

    weight: jax.Array

    def __call__(self, points):
        return jnp.tensordot(points, self.weight, axes=1).reshape(-1, 4, 4)


@functools.cache
def latent():
    """A latent model of small images."""
    first = rng().normal(size=(3, 1, 4, 4))
    field = sx.UpDown(2, 1, activation="tanh")
    net = sx.Net(field, particles=2, integrator=STEPS, key=KEY)
    encoder = Mean(jnp.asarray(rng().normal(size=(16, 2)) / 4))
    decoder = Paint(jnp.asarray(rng().normal(size=(2, 16))))
    model = sx.nn.LatentModel(encoder, net, decoder, [0.0, 0.4, 1.0])
    frames = np.repeat(first, 3, axis=1)
    return model, first, frames


@functools.cache
def images(passing=True):
    """A classifier of images with two convolutional blocks."""
    fields = (sx.ConvAffine(2, size=(4, 4)), sx.ConvAffine(3, size=(2, 2)))
    nets = tuple(
        sx.Net(field, particles=2, integrator=sx.RK4(steps=2), key=KEY) for field in fields
    )
    model = sx.nn.resnet(nets, inputs=1, classes=2, pass_particles=passing, key=KEY)
    return model, rng().normal(size=(5, 1, 4, 4)), np.array([0, 1, 0, 1, 1])


@functools.cache
def regressor():
    """A fitted estimator with a hostile column name, its table and target."""
    import pandas as pd

    from shootax.sklearn import ShootingRegressor

    table = pd.DataFrame(rng().normal(size=(40, 2)), columns=[HOSTILE, "width"])
    y = pd.Series(table["width"] ** 2, name="a & b <b>")
    options = {"particles": 2, "width": 2, "depth": 3, "max_iter": 2, "batch_size": 32}
    return ShootingRegressor(**options).fit(table, y), table, y


@functools.cache
def classifier():
    """A fitted classifier of text classes, with a table of three columns."""
    from shootax.sklearn import ShootingClassifier

    x = rng().normal(size=(40, 3))
    y = np.where(x[:, 0] > 0, "<i>up", "down")
    options = {"particles": 2, "width": 2, "depth": 3, "max_iter": 2, "batch_size": 32}
    return ShootingClassifier(**options).fit(x, y), x, y


@functools.cache
def forecaster():
    """A fitted forecaster with its sequences."""
    from shootax.sklearn import ShootingForecaster

    phase = rng().uniform(0, 6, (12, 1))
    waves = np.sin(0.3 * np.arange(12) + phase)[:, :, None]
    options = {"particles": 2, "width": 2, "depth": 3, "max_iter": 2}
    return ShootingForecaster(history=2, horizon=4, **options).fit(waves), waves
