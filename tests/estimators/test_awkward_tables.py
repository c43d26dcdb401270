"""Data as they come: any labels, pandas, weights, several targets, and tables that are awkward."""

import warnings

import numpy as np
import pandas as pd
import pytest

from shootax.sklearn import ShootingClassifier, ShootingRegressor
from shootax.sklearn._scaling import Scaler
from shootax.sklearn._tables import merged, split

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - 2 * X[:, 1] + np.sin(X[:, 2])
SIGN = (Y > 0).astype(int)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["no", "yes"])[SIGN],
        np.array(["no", "yes"], dtype=object)[SIGN],
        SIGN.astype(bool),
        10 * SIGN - 5,
        SIGN.astype(float),
        pd.Series(["no", "yes"], dtype="category")[SIGN].reset_index(drop=True),
    ],
    ids=["text", "object", "bool", "int", "float", "category"],
)
def test_labels_of_any_type(labels):
    model = ShootingClassifier(**SMALL, max_iter=30).fit(X, labels)
    predicted = model.predict(X)
    assert np.mean(predicted == np.asarray(labels)) > 0.8
    assert set(predicted) <= set(np.asarray(labels)) == set(model.classes_)
    probabilities = model.predict_proba(X)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, rtol=1e-12)
    np.testing.assert_array_equal(model.classes_[probabilities.argmax(1)], predicted)


def test_pandas_in_and_out():
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=np.arange(60) * 10)
    targets = pd.DataFrame({"sum": Y, "twice": 2 * Y}, index=frame.index)
    model = ShootingRegressor(**SMALL, max_iter=30).fit(frame, targets)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    out = model.predict_frame(frame)
    assert list(out.columns) == ["sum", "twice"]
    pd.testing.assert_index_equal(out.index, frame.index)
    np.testing.assert_array_equal(out.to_numpy(), model.predict(frame))
    assert np.corrcoef(out["sum"], Y)[0, 1] > 0.9
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["b", "a", "c"]])
    classes = ShootingClassifier(**SMALL, max_iter=30).fit(frame, pd.Series(SIGN, name="sign"))
    out = classes.predict_frame(frame)
    assert list(out.columns) == ["sign", "probability of 0", "probability of 1"]
    assert out["sign"].tolist() == classes.predict(frame).tolist()


def test_rows_of_weight_two_are_two_rows_and_of_zero_none():
    weight = RNG.integers(0, 3, 60)
    weighted = ShootingRegressor(**SMALL, max_iter=5).fit(X, Y, sample_weight=weight)
    repeated = ShootingRegressor(**SMALL, max_iter=5).fit(X.repeat(weight, 0), Y.repeat(weight))
    np.testing.assert_array_equal(weighted.predict(X), repeated.predict(X))


def test_weights_matter():
    """Two truths in one table: the heavier one wins."""
    x, y = np.concatenate([X, X + 1e-3]), np.concatenate([Y, -Y])
    weight = np.repeat([1.0, 1e-3], 60)
    model = ShootingRegressor(**SMALL, max_iter=60).fit(x, y, sample_weight=weight)
    assert model.score(X, Y) > 0.8


def test_several_targets_of_different_scales():
    targets = np.stack([1e6 * Y, 1e-6 * X[:, 0] + 3], axis=1)
    model = ShootingRegressor(**SMALL, max_iter=60).fit(X, targets)
    errors = ((model.predict(X) - targets) ** 2).mean(0) / targets.var(0)
    assert (errors < 0.2).all()


AWKWARD = {
    "unscaled": (X * [1e9, 1e-9, 1.0] + [1e12, 0, -5], Y),
    "enormous": (X * 1e300, Y * 1e300),
    "tiny": (X * 1e-300, Y * 1e-300),
    "outlier": (np.where(np.arange(180).reshape(60, 3) == 7, 1e15, X), Y),
    "constant columns": (np.c_[X, np.full(60, 1e20), np.zeros(60)], Y),
    "constant everything": (np.ones((60, 3)), np.ones(60)),
    "constant target": (X, np.full(60, 7.0)),
    "duplicates": (X[:5].repeat(12, axis=0), Y[:5].repeat(12)),
    "contradictions": (np.ones((60, 3)), Y),
    "five rows": (X[:5], Y[:5]),
    "two rows": (X[:2], Y[:2]),
    "more columns than rows": (RNG.normal(size=(8, 30)), Y[:8]),
    "whole numbers": (np.arange(60).reshape(20, 3), np.arange(20)),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_tables_do_not_diverge(name):
    x, y = AWKWARD[name]
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a training that diverges says so in a warning
        model = ShootingRegressor(**SMALL, max_iter=30).fit(x, y)
        predictions = model.predict(x)
    assert np.isfinite(predictions).all()
    assert np.isfinite(model.loss_curve_).all()
    scale = np.abs(y).max()
    errors, spread = (np.mean(((a - b) / scale) ** 2) for a, b in ((predictions, y), (y, y.mean())))
    assert errors <= 1.5 * spread + 1e-12
    labels = (y > np.median(y)).astype(int)
    if len(set(labels)) == 2:
        probabilities = ShootingClassifier(**SMALL, max_iter=30).fit(x, labels).predict_proba(x)
        assert np.isfinite(probabilities).all()


def test_a_constant_target_is_predicted_exactly():
    x, y = AWKWARD["constant target"]
    np.testing.assert_array_equal(ShootingRegressor(**SMALL, max_iter=3).fit(x, y).predict(x), y)


def test_a_column_that_was_constant_has_no_say():
    x = np.c_[X, np.full(60, 5.0)]
    model = ShootingRegressor(**SMALL, max_iter=3).fit(x, Y)
    changed = np.c_[X, RNG.normal(size=60) * 1e6]
    np.testing.assert_array_equal(model.predict(x), model.predict(changed))


def test_scaler():
    x, weight = RNG.normal(3, 2, (50, 2)), RNG.uniform(0, 1, 50)
    scaler = Scaler.of(x, weight)
    z = scaler.forward(x)
    np.testing.assert_allclose(np.average(z, axis=0, weights=weight), 0, atol=1e-12)
    np.testing.assert_allclose(np.average(z**2, axis=0, weights=weight), 1, rtol=1e-12)
    np.testing.assert_allclose(scaler.back(z), x, rtol=1e-12)


def test_merged_rows_and_split():
    x = np.array([[1.0], [2.0], [1.0], [1.0]])
    samples = merged(x, np.array([0, 1, 0, 1]), np.array([1.0, 2.0, 3.0, 0.0]))
    np.testing.assert_array_equal(samples.x, [[1], [2]])
    np.testing.assert_array_equal(samples.y, [0, 1])
    np.testing.assert_array_equal(samples.weight, [4, 2])
    many = merged(
        RNG.normal(size=(100, 1)), np.arange(100) % 2 * (np.arange(100) < 12), np.ones(100)
    )
    kept, held = split(many, 0.2, True, np.random.default_rng(0))
    assert [np.sum(held.y == c) for c in (0, 1)] == [19, 1]
    assert {*kept.x.ravel(), *held.x.ravel()} == {*many.x.ravel()}
    assert len(kept.x) + len(held.x) == 100


def test_masked_entries_are_missing():
    hidden = np.arange(60) == 4
    x = np.ma.array(X, mask=hidden[:, None] & [True, False, False])
    for kind, y in ((ShootingRegressor, Y), (ShootingClassifier, SIGN)):
        with pytest.raises(ValueError, match="Input X contains NaN"):
            kind(**SMALL).fit(x, y)
        with pytest.raises(ValueError, match="Input y contains NaN"):
            kind(**SMALL).fit(X, np.ma.array(y, mask=hidden))
        with pytest.raises(ValueError, match="sample_weight contains NaN"):
            kind(**SMALL).fit(X, y, sample_weight=np.ma.array(np.ones(60), mask=hidden))


def test_weights_whose_sum_overflows_are_refused():
    with pytest.raises(ValueError, match="finite sum; got values from 1e"):
        ShootingRegressor(**SMALL).fit(X, Y, sample_weight=np.full(60, 1e308))
