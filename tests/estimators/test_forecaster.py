"""Forecasts of a damped oscillator, whose solution is known."""

import numpy as np
import pytest

from shootax.sklearn import ShootingForecaster
from shootax.sklearn._windows import checked, cut

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2}
RNG = np.random.default_rng(0)


def oscillators(start, times):
    """Turning by one radian and shrinking by a tenth per unit of time: `(sequences, times, 2)`."""
    turned = np.exp((-0.1 - 1j) * np.asarray(times)) * (start[:, :1] + 1j * start[:, 1:])
    return np.stack([turned.real, turned.imag], axis=-1)


T = np.arange(25) * 0.2
TRAIN, TEST = (oscillators(RNG.normal(size=(n, 2)), T) for n in (24, 10))


@pytest.fixture(scope="module")
def model():
    import jax

    with jax.numpy_dtype_promotion("standard"):
        return ShootingForecaster(**SMALL, history=1, horizon=5, max_iter=150).fit(TRAIN, times=T)


def root_mean_square(errors):
    return np.sqrt(np.mean(errors**2))


def test_held_out_sequences(model):
    assert model.score(TEST, times=T) > 0.99
    assert model.step_ == pytest.approx(0.2)
    assert model.span_ == pytest.approx(1.0)


def test_a_forecast_goes_on_from_itself(model):
    """Four times as far as was trained, which is over half a turn."""
    forecast = model.predict(TEST[:, :5], times=T[:5], steps=20)
    error = root_mean_square(forecast - TEST[:, 5:])
    assert error < 0.1 * root_mean_square(TEST[:, 4:5] - TEST[:, 5:])  # nothing changes


def test_steps_and_times_and_parts_of_a_forecast_agree(model):
    past = {"X": TEST[:, :5], "times": T[:5]}
    steps = model.predict(**past, steps=12)
    np.testing.assert_allclose(model.predict(**past, at=T[5:17] - T[4]), steps, rtol=1e-6)
    np.testing.assert_allclose(model.predict(**past, at=T[8:10] - T[4]), steps[:, 3:5], rtol=1e-6)
    each = np.stack([T[5 + i : 7 + i] - T[4] for i in range(10)])
    expected = np.stack([steps[i, i : i + 2] for i in range(10)])
    np.testing.assert_allclose(model.predict(**past, at=each), expected, rtol=1e-6)


def test_between_steps(model):
    """At moments that were never in the training data."""
    at = np.array([0.1, 0.33, 0.7])
    truth = oscillators(TEST[:, 0], at)
    assert root_mean_square(model.predict(TEST[:, :1], at=at) - truth) < 0.1


@pytest.mark.slow
def test_uneven_times_and_missing_entries():
    def make(count):
        times = np.cumsum(RNG.uniform(0.05, 0.35, (count, 25)), axis=1)
        turned = np.exp((-0.1 - 1j) * times) * (RNG.normal(size=(count, 2)) @ [[1], [1j]])
        values = np.stack([turned.real, turned.imag], axis=-1)
        values[RNG.uniform(size=values.shape) < 0.1] = np.nan
        return values, times

    train, train_times = make(60)
    test, test_times = make(20)
    options = {"history": 3, "horizon": 5, "max_iter": 200, "width": 8}
    model = ShootingForecaster(**options).fit(train, times=train_times)
    assert model.score(test, times=test_times) > 0.9


def test_missing_entries_have_no_say():
    """What stands in their place is not looked at."""
    mask = RNG.uniform(size=TRAIN.shape) > 0.2
    spoiled = np.where(mask, TRAIN, 1e9)
    options = {**SMALL, "history": 1, "horizon": 5, "max_iter": 2}
    masked = ShootingForecaster(**options).fit(spoiled, mask=mask)
    holes = ShootingForecaster(**options).fit(np.where(mask, TRAIN, np.nan))
    np.testing.assert_array_equal(masked.predict(TEST), holes.predict(TEST))


def test_windows():
    values = np.arange(10.0).reshape(1, 5, 2)
    values[0, 0] = np.nan
    windows = cut(checked(values, None, None), 1, 2)
    # The first window has a past without any observation.
    np.testing.assert_array_equal(windows.past.times, [[1], [2]])
    np.testing.assert_array_equal(windows.future.values, [values[0, 2:4], values[0, 3:5]])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": TRAIN[0]}, r"shape \(sequences, times, features\).*got \(25, 2\)"),
        ({"X": TRAIN[:, :3]}, "3 entries are too short for a past of 1 and a future of 10"),
        ({"X": np.where(TRAIN > 1, np.inf, TRAIN)}, "finite, or NaN where an entry is missing"),
        ({"X": TRAIN, "times": T[::-1]}, "times must be finite and increase"),
        ({"X": TRAIN, "times": T[:3]}, r"times must have shape \(25,\) or \(24, 25\), got \(3,\)"),
        ({"X": TRAIN, "mask": np.ones(3)}, r"mask must have shape"),
        ({"X": TRAIN * [1, np.nan]}, "A feature has no observed entry"),
    ],
)
def test_wrong_sequences(arguments, message):
    with pytest.raises(ValueError, match=message):
        ShootingForecaster().fit(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": TEST[:, :, :1]}, "X has 1 features, but ShootingForecaster was fitted with 2"),
        ({"X": TEST, "steps": 2, "at": [1.0]}, "Give `steps` or `at`, not both"),
        ({"X": TEST, "at": [[1.0]]}, r"at must have shape \(moments,\) or \(10, moments\)"),
        ({"X": TEST, "at": [-1.0]}, "non-negative"),
        ({"X": TEST, "steps": 0}, "steps must be a whole number of at least 1"),
    ],
)
def test_wrong_questions(model, arguments, message):
    with pytest.raises(ValueError, match=message):
        model.predict(**arguments)
