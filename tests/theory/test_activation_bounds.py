"""The constants of activations, against dense sampling."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shootax import Affine
from shootax.theory._activations import NAMED, activation_bounds


@pytest.mark.parametrize("name", NAMED)
def test_constants_hold_and_are_close(name):
    function, bounds = Affine(1, activation=name).activation, NAMED[name]
    rng = np.random.default_rng(0)
    ends = np.sort(rng.normal(scale=3, size=(40, 2)), axis=1)
    s = np.linspace(ends[:, 0], ends[:, 1], 801)
    values = np.abs(np.asarray(function(jnp.asarray(s))))
    slopes = np.abs(np.asarray(jax.vmap(jax.vmap(jax.grad(function)))(jnp.asarray(s))))
    sup, lipschitz = bounds.on(ends[:, 0], ends[:, 1])
    assert (values.max(axis=0) <= sup + 1e-12).all()
    assert (slopes.max(axis=0) <= lipschitz + 1e-12).all()
    assert (values <= bounds.offset + bounds.slope * np.abs(s) + 1e-12).all()
    assert slopes.max() <= bounds.lipschitz + 1e-12
    assert values.max() <= bounds.sup
    # On an interval the slope is exact up to sampling, the size but for the dip of gelu.
    assert (lipschitz - slopes.max(axis=0) < 2e-2).all()
    assert (sup - values.max(axis=0) < (0.171 if name == "gelu" else 1e-9)).all()


@pytest.mark.parametrize("function", [jnp.sin, jnp.cos])
def test_sine_and_cosine(function):
    bounds, s = activation_bounds(function), np.linspace(-9, 9, 1001)
    assert (
        np.abs(np.asarray(function(s))) <= bounds.offset + bounds.slope * np.abs(s) + 1e-12
    ).all()
