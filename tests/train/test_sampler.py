"""Samples that are drawn anew for every epoch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, sx.Static(FIELD, key=KEY), integrator=sx.Euler(steps=2), key=KEY)
STILL = sx.Optimizer(freeze={"control": None, "lift": None})


class Draws(sx.AbstractSampler):
    """Its samples are known from the key alone."""

    rows: int = 7

    def __call__(self, key):
        x = jax.random.uniform(key, (self.rows, 1))
        return x, x**2


def test_every_epoch_has_fresh_samples():
    """With parameters that do not move, the data loss is that of the samples of each epoch."""
    fitted = sx.fit(NET, Draws(), epochs=3, batch_size=7, optimizer=STILL)
    key, expected = jax.random.key(0), []
    for _ in range(3):
        key, order = jax.random.split(key)
        x, y = Draws()(jax.random.fold_in(order, 1))
        expected.append(jnp.mean((NET(x) - y) ** 2))
    np.testing.assert_allclose(fitted.history["data"], expected, rtol=1e-9)
    assert len(set(np.round(fitted.history["data"], 12))) == 3


def test_what_goes_with_a_sampler():
    x = np.ones((3, 1))
    for options in ({"y": x}, {"sample_weight": np.ones(7)}):
        with pytest.raises(ValueError, match="A sampler draws x and y"):
            sx.fit(NET, Draws(), epochs=1, **options)
    with pytest.raises(ValueError, match="as a pair"):
        sx.fit(NET, Draws(), epochs=1, validation=0.2)
