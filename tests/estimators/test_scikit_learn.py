"""The estimators are estimators of scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.utils.estimator_checks import check_estimator

import shootax as sx
from shootax.sklearn import ShootingClassifier, ShootingForecaster, ShootingRegressor

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2}
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X[:, 0] - 2 * X[:, 1] + np.sin(X[:, 2])
LABELS = np.where(Y > 0, "high", "low")


def passes(estimator):
    """All checks but the one for which an environment variable would have to be set."""
    results = check_estimator(estimator, on_skip=None)
    not_passed = [r["check_name"] for r in results if r["status"] != "passed"]
    assert set(not_passed) <= {"check_array_api_input"}
    assert len(results) > 40


@pytest.mark.parametrize(
    "kind", [ShootingRegressor, pytest.param(ShootingClassifier, marks=pytest.mark.slow)]
)
def test_check_estimator(kind):
    passes(kind(**SMALL, max_iter=40))


@pytest.mark.slow
@pytest.mark.parametrize("kind", [ShootingRegressor, ShootingClassifier])
def test_check_estimator_at_defaults(kind):
    passes(kind())


def test_pipeline_and_grid_search():
    """A product of columns: the search finds out that squares are needed and a rate above zero."""
    product = X[:, 0] * X[:, 1]
    pipeline = make_pipeline(
        PolynomialFeatures(1), ShootingRegressor(**SMALL, max_iter=60, weight_decay=0.0)
    )
    grid = {
        "polynomialfeatures__degree": [1, 2],
        "shootingregressor__learning_rate": [1e-6, 0.03],
    }
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, product)
    assert list(search.best_params_.values()) == [2, 0.03]
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == scores.max() > 0.5
    assert np.sort(scores)[-2] < search.best_score_ - 0.2
    best = search.best_estimator_[-1]
    assert best.get_params()["learning_rate"] == 0.03
    assert search.score(X, product) == search.best_estimator_.score(X, product)
    np.testing.assert_array_equal(
        search.predict(X), best.predict(PolynomialFeatures(2).fit_transform(X))
    )


@pytest.mark.slow
def test_grid_search_in_two_processes_finds_what_one_does():
    """Two processes hand over estimators, fitted ones too, and compute the same numbers."""
    grid = {"learning_rate": [1e-4, 0.03]}
    searches = [
        GridSearchCV(
            ShootingClassifier(**SMALL, max_iter=10), grid, cv=2, n_jobs=n_jobs, error_score="raise"
        ).fit(X.astype(np.float32), LABELS)
        for n_jobs in (1, 2)
    ]
    one, two = searches
    assert one.best_params_ == two.best_params_ == {"learning_rate": 0.03}
    # A worker computes in single precision: it was not told otherwise.
    np.testing.assert_allclose(
        one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"], atol=0.05
    )


def test_cross_validation_learns():
    assert cross_val_score(ShootingRegressor(**SMALL), X, Y, cv=3).mean() > 0.8
    assert cross_val_score(ShootingClassifier(**SMALL), X, LABELS, cv=3).mean() > 0.8


@pytest.mark.parametrize("formulation", sx.FORMULATIONS)
def test_every_formulation_learns_and_survives_pickle(formulation):
    model = ShootingRegressor(**SMALL, formulation=formulation, max_iter=60).fit(X, Y)
    assert model.score(X, Y) > 0.8
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.complexity_ == model.complexity_


def test_what_is_known_after_fitting():
    model = ShootingRegressor(**SMALL, max_iter=15, penalty_weight=0.5, early_stopping=False)
    with pytest.raises(NotFittedError):
        model.energy_  # noqa: B018
    with pytest.raises(NotFittedError):
        model.complexity_  # noqa: B018
    model.fit(X, Y)
    assert model.n_iter_ == len(model.loss_curve_) == 15
    assert model.loss_curve_[-1] < model.loss_curve_[0]
    mse = np.mean((model.predict(X) - Y) ** 2) / Y.var()
    np.testing.assert_allclose(model.loss_, mse, rtol=1e-9)
    np.testing.assert_allclose(model.penalty_, sx.penalty(model.net_), rtol=1e-9)
    np.testing.assert_allclose(model.energy_, mse + 0.5 * model.penalty_, rtol=1e-9)
    np.testing.assert_allclose(model.complexity_, sx.complexity(model.net_), rtol=1e-9)
    # Lift 8·(3 + 1), readout 4 + 1, two particles of 8 numbers with momenta.
    assert model.n_parameters_ == sx.count(model.net_) == 32 + 5 + 32


def test_the_seed_decides():
    first, again, other = (
        ShootingRegressor(**SMALL, max_iter=5, random_state=seed).fit(X, Y).predict(X)
        for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, again)
    assert not np.allclose(first, other)


def test_early_stopping_keeps_the_best():
    model = ShootingRegressor(**SMALL, max_iter=400, n_iter_no_change=5, learning_rate=0.05)
    model.fit(X, Y)
    assert model.n_iter_ < 400
    best = int(np.argmin(model.validation_curve_))
    assert model.n_iter_ == best + 1 + 5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"formulation": "magic"}, "Unknown formulation 'magic'. Choose one of: dynamic-direct"),
        ({"particles": 0}, "particles must be a whole number of at least 1, got 0"),
        ({"activation": "swoosh"}, "Unknown activation 'swoosh'"),
        ({"validation_fraction": 1.5}, "validation_fraction must be below 1, got 1.5"),
        ({"penalty_weight": -1}, "penalty_weight must be a finite number of at least 0, got -1"),
    ],
)
def test_wrong_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        ShootingRegressor(**options).fit(X, Y)


def test_wrong_weights():
    with pytest.raises(ValueError, match="sample_weight must be numbers of at least 0, not all 0"):
        ShootingRegressor().fit(X, Y, sample_weight=-np.ones(60))
    with pytest.raises(ValueError, match="only one class: 'high'"):
        ShootingClassifier().fit(X, LABELS, sample_weight=(LABELS == "high").astype(float))


def test_the_forecaster_can_be_cloned():
    model = ShootingForecaster(history=2, horizon=7, width=3)
    assert clone(model).get_params() == model.get_params()
