"""What reaches the training: weights, smaller rates after divergence, and the times of forecasts."""

import itertools

import numpy as np
import pytest

import shootax as sx
from shootax.sklearn import ShootingClassifier, ShootingForecaster, ShootingRegressor
from shootax.sklearn import _training as training
from shootax.sklearn._recipe import rate_for, recipe
from shootax.sklearn._tables import Samples, power_of_two, split
from shootax.sklearn._windows import Sequences, appended

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - 2 * X[:, 1]


def test_weights_count_in_the_training_of_a_classifier():
    """The same inputs with two classes: the heavier class is predicted, with its share."""
    x = np.concatenate([X, X])
    y = np.repeat(["light", "heavy"], 60)
    weight = np.repeat([1.0, 9.0], 60)
    model = ShootingClassifier(**SMALL, max_iter=30).fit(x, y, sample_weight=weight)
    assert model.classes_.tolist() == ["heavy", "light"]
    assert model.predict_proba(X)[:, 0].mean() == pytest.approx(0.9, abs=0.06)


def test_weights_count_in_the_loss_of_a_classifier():
    weight = np.where(Y > 0, 5.0, 0.5)
    options = {**SMALL, "max_iter": 3, "early_stopping": False}
    model = ShootingClassifier(**options).fit(X, Y > 0, sample_weight=weight)
    each = -model.predict_log_proba(X)[np.arange(60), (Y > 0).astype(int)]
    assert model.loss_ == pytest.approx(np.average(each, weights=weight))
    assert model.loss_ != pytest.approx(each.mean(), rel=1e-3)


def test_a_training_that_diverges_is_repeated_at_a_smaller_rate(monkeypatch):
    rates, fit = [], sx.fit

    def diverging(*arguments, optimizer, **options):
        rates.append(optimizer.learning_rate)
        fitted = fit(*arguments, optimizer=optimizer, **options)
        if len(rates) < 3:
            raise sx.DivergedError("It diverged.", fitted)
        return fitted

    monkeypatch.setattr(sx, "fit", diverging)
    ShootingRegressor(**SMALL, max_iter=1, learning_rate=0.5).fit(X, Y)
    np.testing.assert_allclose(rates, [0.5, 0.05, 0.005])


def test_a_training_that_always_diverges_says_so(monkeypatch):
    fit = sx.fit

    def diverging(*arguments, **options):
        raise sx.DivergedError("It diverged.", fit(*arguments, **options))

    monkeypatch.setattr(sx, "fit", diverging)
    with pytest.warns(UserWarning, match="It diverged. The estimator uses the last good model."):
        ShootingRegressor(**SMALL, max_iter=1).fit(X, Y)


T = np.cumsum([0.0, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])
SEQUENCES = np.stack([T, T + 1, T - 1])[:, :, None]


@pytest.fixture
def forecaster(monkeypatch):
    """A forecaster, and what its training was given."""
    given = []
    train = training.train

    def noted(net, samples, held_out, loss, options):
        given.append(samples)
        return train(net, samples, held_out, loss, options)

    monkeypatch.setattr(training, "train", noted)
    model = ShootingForecaster(**SMALL, horizon=4, max_iter=1).fit(SEQUENCES, times=T)
    return model, given[0]


def test_targets_of_forecasts_are_at_their_own_times(forecaster):
    """The first future entry is one step after the last past one: a quarter of the depth."""
    model, samples = forecaster
    np.testing.assert_allclose(samples.times, np.tile([0.25, 0.5, 0.75, 1.0], (9, 1)))
    past, future = model._x.back(samples.x[:, :, None]), model._x.back(samples.y[0])
    np.testing.assert_allclose(future[..., 0] - past[..., 0], 0.8 * samples.times)


def test_forecasts_are_read_at_their_own_times(forecaster, monkeypatch):
    """With a net that answers with its input plus the time, on a line of slope one."""
    model, _ = forecaster
    unit = model.span_ / model._x.spread

    def line(net, x, times):
        return x[:, None, :1] + times[:, :, None] * unit

    monkeypatch.setattr(training, "outputs", line)
    forecast = model.predict(SEQUENCES, times=T, steps=11)
    expected = SEQUENCES[:, -1:] + 0.2 * np.arange(1, 12)[:, None]
    np.testing.assert_allclose(forecast, expected)
    at = np.array([0.0, 0.1, 0.9, 2.05])
    forecast = model.predict(SEQUENCES, times=T, at=at)
    np.testing.assert_allclose(forecast, SEQUENCES[:, -1:] + at[:, None])
    assert model.score(SEQUENCES, times=T) == pytest.approx(1)


def test_what_was_forecast_follows_the_past():
    past = Sequences(np.zeros((1, 1, 1)), np.ones((1, 1, 1), bool), np.array([[3.0]]))
    longer = appended(past, np.ones((1, 2, 1)), 0.5)
    np.testing.assert_allclose(longer.times, [[3.0, 3.5, 4.0]])


def test_every_class_is_held_out_in_its_share():
    labels = np.repeat([0, 1, 2], [60, 30, 1])
    samples = Samples(np.arange(91.0)[:, None], labels, np.ones(91))
    kept, held_out = split(samples, 0.2, True, np.random.default_rng(0))
    assert np.bincount(held_out.y, minlength=3).tolist() == [12, 6, 0]  # none loses its last sample
    assert sorted([*kept.x[:, 0], *held_out.x[:, 0]]) == list(range(91))
    assert split(samples, 0.03, False, np.random.default_rng(0))[1] is None  # three are too few
    assert len(split(samples, 0.06, False, np.random.default_rng(0))[1].x) == 5


def test_sizes_are_rounded_up_to_powers_of_two():
    assert [power_of_two(number, 8) for number in (1, 8, 9, 16, 17)] == [8, 8, 16, 16, 32]


def test_settings_by_the_number_of_samples():
    """Small tables have the strengths that were tuned on small tables; large ones end in finite time."""
    assert recipe(1) == recipe(700) == (0.01, 0.5, 32, 100)
    assert recipe(1000) == (0.01, 0.5, 64, 100)
    assert recipe(3000) == pytest.approx((0.0025, 0.125, 128, 100))
    assert recipe(50_000)[2:] == (128, 20)
    assert recipe(10**7).epochs == 10
    assert (rate_for(16), rate_for(32), rate_for(64)) == (0.01, 0.01, 0.02)
    for before, after in itertools.pairwise(recipe(10**k) for k in range(8)):
        assert after.weight_decay <= before.weight_decay
        assert after.epochs <= before.epochs
        assert after.batch_size >= before.batch_size


def test_settings_that_are_named_are_used():
    options = {**SMALL, "max_iter": 2, "penalty_weight": 0.25}
    model = ShootingRegressor(**options).fit(X, Y)
    assert (model.n_iter_, model.max_iter_, model.penalty_weight_) == (2, 2, 0.25)
    assert model.energy_ == pytest.approx(model.loss_ + 0.25 * model.penalty_)
