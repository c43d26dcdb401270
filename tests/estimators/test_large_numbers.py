"""Numbers near the end of what floats can hold: finite results, or a word."""

import warnings

import numpy as np
import pytest

from shootax.sklearn import ShootingClassifier, ShootingRegressor
from shootax.sklearn import _training as training
from shootax.sklearn._scaling import Scaler

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2, "max_iter": 2}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - 2 * X[:, 1]


def test_the_largest_floats_can_be_scaled():
    x = np.array([[1.7e308, 1e12], [-1.7e308, 1e12 + 1], [1.7e308, 1e12 + 2]])
    scaler = Scaler.of(x, np.ones(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        z = scaler.forward(x)
    np.testing.assert_allclose(z[:, 0], [0.5**0.5, -(2**0.5), 0.5**0.5])
    np.testing.assert_allclose(z[:, 1], [-(1.5**0.5), 0, 1.5**0.5], rtol=1e-4, atol=1e-3)


def test_targets_of_the_largest_size_are_learned():
    y = np.where(Y > 0, 1.7e308, -1.7e308)
    model = ShootingRegressor(**{**SMALL, "max_iter": 20}).fit(X, y)
    assert np.isfinite(model.loss_curve_).all()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.mean(np.sign(model.predict(X)) == np.sign(y)) > 0.8


@pytest.mark.parametrize("kind", [ShootingRegressor, ShootingClassifier])
def test_an_input_that_is_too_large_is_told_with_its_place(kind):
    model = kind(**SMALL).fit(X, Y if kind is ShootingRegressor else Y > 0)
    far = X.copy()
    far[7, 1] = 1e300
    with pytest.raises(ValueError, match=r"too large in row 8, column 2: it is .*e\+(300|299)"):
        model.predict(far)
    far[7, 1] = 1e15  # a poor question, but one that can be answered
    assert np.isfinite(np.asarray(model.predict(far), float)).all()


def test_predictions_that_are_not_finite_come_with_a_warning(monkeypatch):
    model = ShootingRegressor(**SMALL).fit(X, Y)
    spoiled = model.net_
    monkeypatch.setattr(
        training, "_apply", lambda net, x, times: spoiled(x[:, :3]).at[2].set(np.nan)
    )
    with pytest.warns(UserWarning, match="1 of 60 predictions are not finite, the first in row 3"):
        model.predict(X)
    model._y = Scaler(np.array([0.0]), np.array([1e308]))
    monkeypatch.setattr(training, "_apply", lambda net, x, times: 9.0 + 0 * x[:, :1])
    with pytest.warns(UserWarning, match="60 of 60 predictions are not finite"):
        model.predict(X)
