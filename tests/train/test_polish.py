"""L-BFGS after Adam: against SciPy and exact minima, and as a part of `fit`."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from jax.flatten_util import ravel_pytree

import shootax as sx
from cases import KEY, assert_same
from shootax._train import Checkpoint
from shootax._train.quasi_newton import begin_search, search_step

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
X = np.linspace(-1, 1, 21)[:, None]
OPTIONS = {"epochs": 3, "batch_size": 8}


def make(seed=0):
    key = jax.random.fold_in(KEY, seed)
    control = sx.Static(FIELD, key=key)
    return sx.Net(FIELD, control, integrator=sx.Euler(steps=2), key=key)


def searched(function, start, evaluations, memory=10):
    """The search after so many evaluations, and the best value after each."""

    def body(search, _):
        search, _ = search_step(search, *jax.value_and_grad(function)(search.trial))
        return search, search.value

    run = jax.jit(lambda point: jax.lax.scan(body, begin_search(point, memory), None, evaluations))
    return run(jnp.asarray(start, float))


def vector(net):
    return ravel_pytree(eqx.filter(net, eqx.is_inexact_array))[0]


def objective(net, x=X, y=X**2, weight=None):
    """By its definition, with the strengths that `fit` has by default."""
    losses = np.mean((np.asarray(net(jnp.asarray(x))) - y) ** 2, axis=1)
    return 100 * np.average(losses, weights=weight) + float(sx.penalty(net))


def test_the_minimum_of_a_quadratic_is_exact():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(12, 12))
    matrix, right = root @ root.T + 0.1 * np.eye(12), rng.normal(size=12)
    search, values = searched(
        lambda x: 0.5 * x @ jnp.asarray(matrix) @ x - jnp.asarray(right) @ x, np.zeros(12), 200
    )
    np.testing.assert_allclose(search.point, np.linalg.solve(matrix, right), atol=1e-6)
    assert np.all(np.diff(values) <= 1e-14)
    assert bool(search.over)  # it is known that it goes no lower


@pytest.mark.parametrize("memory", [1, 10])
def test_rosenbrock_takes_about_as_many_evaluations_as_scipy(memory):
    rosen, start = scipy.optimize.rosen, np.array([-1.2, 1, -1, 1.5])

    def function(x):
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    search, values = searched(function, start, 400, memory)
    np.testing.assert_allclose(search.value, rosen(np.asarray(search.point)), atol=1e-12)
    theirs = scipy.optimize.minimize(
        rosen, start, jac=scipy.optimize.rosen_der, method="L-BFGS-B", options={"maxcor": memory}
    )
    reached = int(np.argmax(values < 1e-8))
    assert 0 < reached < 2 * theirs.nfev


def test_values_that_are_not_numbers_are_stepped_back_from():
    """The root is not defined where the first steps lead to."""
    search, _ = searched(lambda x: jnp.sum(x - 2 * jnp.sqrt(x)) * 50, np.full(3, 0.01), 60)
    np.testing.assert_allclose(search.point, np.ones(3), rtol=1e-6)


def test_kinks_do_not_stop_the_search():
    """As activations may have them."""
    search, _ = searched(lambda x: jnp.sum(jnp.abs(x) + 0.1 * x**2), np.array([3.0, -2.0]), 200)
    np.testing.assert_allclose(search.point, np.zeros(2), atol=1e-6)


def test_fit_reports_the_objective_of_the_model_that_it_returns():
    weight = np.linspace(0.5, 2, 21)
    result = sx.fit(make(), X, X**2, sample_weight=weight, polish=sx.LBFGS(8), **OPTIONS)
    history = result.history
    assert all(len(column) == 3 + 8 for column in history.values())
    np.testing.assert_allclose(
        history["objective"][-1], objective(result.net, weight=weight), rtol=1e-10
    )
    np.testing.assert_allclose(history["penalty"][-1], sx.penalty(result.net), rtol=1e-10)
    assert np.all(np.diff(history["objective"][3:]) <= 1e-12)
    assert np.isnan(history["learning_rate"][3:]).all()
    assert not np.isnan(history["learning_rate"][:3]).any()


def test_fit_gets_as_low_as_scipy_from_the_same_start():
    start = sx.fit(make(), X, X**2, **OPTIONS).net
    flat, unravel = ravel_pytree(eqx.filter(start, eqx.is_inexact_array))
    rest = eqx.filter(start, eqx.is_inexact_array, inverse=True)

    def function(flat):
        net = eqx.combine(unravel(flat), rest)
        return 100 * jnp.mean((net(jnp.asarray(X)) - X**2) ** 2) + sx.penalty(net)

    theirs = scipy.optimize.minimize(
        jax.jit(jax.value_and_grad(function)),
        np.asarray(flat),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 2000, "maxfun": 4000, "ftol": 1e-15, "gtol": 1e-9},
    )
    plain = sx.Optimizer()  # all parameters on one scale, as SciPy sees them
    found = sx.fit(make(), X, X**2, polish=sx.LBFGS(1000), optimizer=plain, **OPTIONS)
    np.testing.assert_allclose(found.history["objective"][-1], theirs.fun, rtol=1e-6)


def test_the_least_squares_solution_of_what_is_not_frozen():
    class Features(eqx.Module):
        net: sx.Net
        weights: jax.Array

        def __call__(self, x):
            return self.net(x) @ self.weights[:1] + x**2 @ self.weights[1:]

    net, y = make(), np.cos(3 * X)
    adam = sx.Optimizer(freeze={"net": None}, lr_scale={"weights": 7.0})
    model = Features(net, jnp.zeros((2, 1)))
    result = sx.fit(model, X, y, optimizer=adam, polish=sx.LBFGS(40), **OPTIONS)
    features = np.concatenate([np.asarray(net(jnp.asarray(X))), X**2], axis=1)
    np.testing.assert_allclose(
        result.net.weights, np.linalg.lstsq(features, y, rcond=None)[0], rtol=1e-6
    )
    assert_same(result.net.net, net)


@pytest.mark.slow
def test_blocks_and_nets_trained_together_give_the_same():
    finish = sx.LBFGS(6)
    alone = [sx.fit(make(i), X, X**2, polish=finish, seed=i, **OPTIONS) for i in range(2)]
    in_blocks = sx.fit(make(), X, X**2, polish=sx.LBFGS(6, batch_size=5), **OPTIONS)
    np.testing.assert_allclose(vector(in_blocks.net), vector(alone[0].net), rtol=1e-7)
    mapped = sx.fit_many([make(0), make(1)], X, X**2, polish=finish, together=True, **OPTIONS)
    for one, many in zip(alone, mapped, strict=True):
        np.testing.assert_allclose(vector(many.net), vector(one.net), rtol=1e-7)


class Stop(Exception):
    pass


@pytest.mark.parametrize("epoch", [2, 3, 7])
def test_it_resumes_bit_for_bit(tmp_path, epoch):
    """In the epochs of Adam, between, and in those that polish."""

    def show(done, text):
        if done >= epoch:
            raise Stop

    options = {**OPTIONS, "validation": 0.3, "polish": sx.LBFGS(6)}
    whole = sx.fit(make(), X, X**2, **options)
    file = Checkpoint(tmp_path / "state", every=0.0)
    with pytest.raises(Stop):
        sx.fit(make(), X, X**2, checkpoint=file, progress=show, **options)
    resumed = sx.fit(make(), X, X**2, checkpoint=file, **options)
    assert_same(resumed.net, whole.net)
    for name, column in whole.history.items():
        np.testing.assert_array_equal(column, resumed.history[name])
    again = sx.fit(make(), X, X**2, checkpoint=file, **options)  # of a training that is over
    assert_same(again.net, whole.net)
    with pytest.raises(sx.FileFormatError, match="another training"):
        sx.fit(make(), X, X**2, checkpoint=file, **{**options, "polish": sx.LBFGS(7)})


@pytest.mark.slow
def test_patience_and_the_best_model_hold_for_both_phases():
    rng = np.random.default_rng(0)
    held = sx.Validation((X, X**2 + 0.5), patience=2)
    result = sx.fit(
        make(), X, X**2 + rng.normal(size=X.shape), validation=held, polish=sx.LBFGS(40), **OPTIONS
    )
    losses = result.history["validation"]
    assert 3 < len(losses) < 43
    found = np.mean((np.asarray(result.net(jnp.asarray(X))) - X**2 - 0.5) ** 2)
    np.testing.assert_allclose(found, losses.min(), rtol=1e-10)


def test_callbacks_see_every_epoch_and_stop_either_phase():
    seen = []

    def until(last):
        seen.clear()
        return [lambda report: seen.append(report) or report.epoch == last]

    options = {**OPTIONS, "polish": sx.LBFGS(6)}
    result = sx.fit(make(), X, X**2, callbacks=until(5), **options)
    assert [report.epoch for report in seen] == [1, 2, 3, 4, 5]
    np.testing.assert_allclose(seen[-1].objective, objective(result.net), rtol=1e-10)
    assert len(sx.fit(make(), X, X**2, callbacks=until(2), **options).history["data"]) == 2


class Fresh(sx.AbstractSampler):
    def __call__(self, key):
        x = jax.random.uniform(key, (8, 1))
        return x, x


@pytest.mark.parametrize(
    ("x", "polish", "message"),
    [
        (Fresh(), sx.LBFGS(2), "a sampler draws new ones"),
        (iter([(X, X)]), sx.LBFGS(2), "a stream has them one batch after the other"),
    ],
)
def test_what_cannot_be_polished_is_said(x, polish, message):
    with pytest.raises(ValueError, match=message):
        sx.fit(make(), x, polish=polish)


@pytest.mark.parametrize(("polish", "advice"), [(20, r"polish=LBFGS\("), (sx.LBFGS, r"LBFGS\(\.")])
def test_what_is_no_polish_is_said(polish, advice):
    with pytest.raises(
        TypeError, match=f"polish must be an instance of LBFGS, got .* Write {advice}"
    ):
        sx.fit(make(), X, X, polish=polish)


@pytest.mark.parametrize("options", [{"epochs": 0}, {"memory": 0}, {"batch_size": 2.5}])
def test_numbers_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match=rf"{next(iter(options))} must be a whole number"):
        sx.LBFGS(**options)
