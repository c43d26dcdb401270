"""Activations and their derivatives, where they have a kink too."""

import jax
import numpy as np
import pytest
from scipy.special import erf, expit

import shootax as sx

S = np.array([-2.0, -0.3, 0.0, 0.4, 3.0])
NORMAL = np.exp(-(S**2) / 2) / np.sqrt(2 * np.pi)
SLOPES = {
    "relu": (S > 0).astype(float),  # zero at zero
    "tanh": 1 - np.tanh(S) ** 2,
    "sigmoid": expit(S) * (1 - expit(S)),
    "softplus": expit(S),
    "gelu": 0.5 * (1 + erf(S / np.sqrt(2))) + S * NORMAL,
    "identity": np.ones(5),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes(name):
    function = sx.Affine(1, activation=name).activation
    np.testing.assert_allclose(
        jax.vmap(jax.grad(function))(S), SLOPES[name], rtol=1e-10, atol=1e-12
    )
