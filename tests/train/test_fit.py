"""Training: what `fit` computes, epoch by epoch, and how it ends when it cannot go on."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import shootax as sx
from cases import KEY, assert_same

pytestmark = pytest.mark.usefixtures("standard_promotion")

# Most tests here are of the loop, not of the model, so the model is one that compiles fast.
FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, sx.Static(FIELD, key=KEY), integrator=sx.Euler(steps=2), key=KEY)
SHOOTING = sx.Net(FIELD, particles=3, integrator=sx.RK4(steps=2), key=KEY)
X = np.linspace(-1, 1, 10)[:, None]
Y = X**2
CONSTANT = sx.Optimizer(schedule=sx.Constant())


def test_the_objective_falls():
    fitted = sx.fit(SHOOTING, X, Y, epochs=150, optimizer=sx.Optimizer(0.05))
    objective = fitted.history["objective"]
    assert objective[-1] < 0.2 * objective[0]
    assert fitted.seconds > 0
    mse = float(np.mean((np.asarray(fitted.net(X)) - Y) ** 2))
    assert mse < 0.2 * float(np.mean((np.asarray(SHOOTING(X)) - Y) ** 2))


def test_the_same_seed_gives_the_same_bits():
    options = {"epochs": 3, "batch_size": 4, "validation": 0.2}
    first, again = (sx.fit(SHOOTING, X, Y, seed=1, **options) for _ in range(2))
    other = sx.fit(SHOOTING, X, Y, seed=2, **options)
    assert_same(first.net, again.net)
    for name, column in first.history.items():
        np.testing.assert_array_equal(column, again.history[name])
    assert not np.allclose(first.net(X), other.net(X), rtol=1e-8)


def test_history():
    fitted = sx.fit(NET, X, Y, epochs=4, data_strength=7.0, penalty_strength=0.5, validation=0.2)
    history = fitted.history
    assert set(history) == {"objective", "data", "penalty", "validation", "learning_rate"}
    assert {len(column) for column in history.values()} == {4}
    np.testing.assert_allclose(
        history["objective"], 7 * history["data"] + 0.5 * history["penalty"], rtol=1e-12
    )
    assert np.isfinite(history["validation"]).all()


def by_hand(net, x, y, weights, batches, rate, times=None):
    """Adam on 100·weighted mean + penalty, batch by batch, in plain Optax."""
    optimizer = optax.adam(rate)
    parameters, static = eqx.partition(net, eqx.is_inexact_array)
    state = optimizer.init(parameters)

    @jax.jit
    def step(parameters, state, x, y, w, times):
        def objective(parameters):
            model = eqx.combine(parameters, static)
            predictions = model(x) if times is None else model(x, times)
            errors = jnp.mean((predictions - y) ** 2, axis=tuple(range(1, y.ndim)))
            return 100 * jnp.sum(w * errors) / jnp.sum(w) + sx.penalty(model)

        updates, state = optimizer.update(jax.grad(objective)(parameters), state)
        return optax.apply_updates(parameters, updates), state

    for rows in batches:
        at = times if times is None or times.ndim == 1 else times[rows]
        parameters, state = step(parameters, state, x[rows], y[rows], weights[rows], at)
    return eqx.combine(parameters, static)


def orders(rows, batch_size, epochs, seed):
    """The batches of `fit`, whose last one may be short."""
    key = jax.random.key(seed)
    for _ in range(epochs):
        key, order_key = jax.random.split(key)
        order = np.asarray(jax.random.permutation(order_key, rows))
        yield from (order[i : i + batch_size] for i in range(0, rows, batch_size))


def assert_trained_alike(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("batch_size", [3, 100])
def test_two_epochs_by_hand(batch_size):
    """With 10 samples: a short last batch of one counts its one sample fully."""
    adam = sx.Optimizer(0.02, schedule=sx.Constant())
    ours = sx.fit(NET, X, Y, epochs=2, batch_size=batch_size, optimizer=adam)
    batches = orders(10, batch_size, 2, seed=0)
    theirs = by_hand(NET, jnp.asarray(X), jnp.asarray(Y), jnp.ones(10), batches, 0.02)
    assert_trained_alike(ours.net, theirs)


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_the_scale_of_sample_weights_does_not_count(scale):
    weights = np.linspace(1, 3, len(X))
    options = {"epochs": 2, "batch_size": 7, "validation": (X, Y), "polish": sx.LBFGS(2)}
    expected, found = (
        sx.fit(NET, X, Y, sample_weight=factor * weights, **options) for factor in (1, scale)
    )
    for name, values in expected.history.items():
        np.testing.assert_allclose(found.history[name], values, rtol=1e-8)


def test_weights_that_cannot_be_added_up_are_refused():
    for weights in (np.full(len(X), 1e308), np.zeros(len(X)), np.full(len(X), np.nan)):
        with pytest.raises(ValueError, match="sum must be finite in float64; got shape"):
            sx.fit(NET, X, Y, sample_weight=weights, epochs=1)


def test_sample_weights_by_hand():
    weights = np.random.default_rng(0).uniform(0.1, 2, 10)
    options = {"epochs": 1, "batch_size": 4, "optimizer": CONSTANT, "seed": 3}
    ours = sx.fit(NET, X, Y, sample_weight=weights, **options)
    batches = orders(10, 4, 1, seed=3)
    theirs = by_hand(NET, jnp.asarray(X), jnp.asarray(Y), jnp.asarray(weights), batches, 0.01)
    assert_trained_alike(ours.net, theirs)


def test_samples_of_weight_zero_do_not_count():
    """Their targets may be anything."""
    spoiled = Y.copy()
    spoiled[3:] = 1e6
    weights = np.r_[np.ones(3), np.zeros(7)]
    options = {"epochs": 2, "sample_weight": weights, "batch_size": 10}
    assert_trained_alike(sx.fit(NET, X, Y, **options).net, sx.fit(NET, X, spoiled, **options).net)


@pytest.mark.parametrize("shared", [True, False])
def test_times_by_hand(shared):
    times = np.array([0.5, 1.0])
    if not shared:
        times = np.sort(np.random.default_rng(0).uniform(size=(10, 2)), axis=1)
    y = np.stack([X, Y], axis=1)
    ours = sx.fit(NET, X, y, epochs=1, batch_size=4, times=times, optimizer=CONSTANT, seed=0)
    at = times if shared else jnp.asarray(times)
    theirs = by_hand(
        NET, jnp.asarray(X), jnp.asarray(y), jnp.ones(10), orders(10, 4, 1, 0), 0.01, at
    )
    assert_trained_alike(ours.net, theirs)


def test_clip():
    """With an enormous gradient limited to a norm, plain descent moves by rate times norm."""
    sgd = sx.Optimizer(0.1, schedule=sx.Constant(), transform=optax.identity(), clip=0.5)
    fitted = sx.fit(NET, X, 1e3 * Y, epochs=1, batch_size=10, optimizer=sgd)
    moved = jax.tree.map(jnp.subtract, *(eqx.filter(n, eqx.is_array) for n in (fitted.net, NET)))
    np.testing.assert_allclose(optax.global_norm(moved), 0.05, rtol=1e-9)


def test_learning_rates_in_the_history():
    options = {"epochs": 4, "batch_size": 5}
    got = sx.fit(NET, X, Y, optimizer=sx.Optimizer(0.2), **options).history["learning_rate"]
    # The rate of the last of two batches of each epoch.
    expected = 0.1 * (1 + np.cos(np.pi * (np.arange(4) + 0.5) / 4))
    np.testing.assert_allclose(got, expected, rtol=1e-6)
    flat = sx.Optimizer(0.2, schedule=sx.Constant())
    flat = sx.fit(NET, X, Y, optimizer=flat, **options).history["learning_rate"]
    np.testing.assert_allclose(flat, 0.2, rtol=1e-6)


def test_plateau_sees_the_validation_loss():
    """Held-out targets that training cannot reach: the rate falls although the objective does."""
    far = (X, Y + 1e3)
    adam = sx.Optimizer(0.01, schedule=sx.Plateau(patience=1, threshold=0.5))
    fitted = sx.fit(NET, X, Y, epochs=6, optimizer=adam, validation=far)
    np.testing.assert_allclose(
        fitted.history["learning_rate"], 0.01 * np.array([1, 1, 1, 0.5, 0.5, 0.25]), rtol=1e-6
    )


def test_validation_loss_is_that_of_the_pair():
    other = np.linspace(-1, 1, 7)[:, None]
    fitted = sx.fit(NET, X, Y, epochs=2, validation=(other, other**3))
    expected = np.mean((np.asarray(fitted.net(other)) - other**3) ** 2)
    np.testing.assert_allclose(fitted.history["validation"][-1], expected, rtol=1e-10)


def test_held_out_samples_are_not_trained_on():
    """Wherever the split falls: the rows with large targets are either seen or held out, never both."""
    y = np.where(np.arange(10)[:, None] == 4, 1e3, Y)
    for seed in range(8):
        fitted = sx.fit(NET, X, y, epochs=1, validation=0.3, seed=seed, batch_size=10)
        large = [fitted.history[name][0] > 1e3 for name in ("data", "validation")]
        assert sum(large) == 1


def test_cross_entropy_tells_two_blobs_apart():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=(30, 2)) - 2, rng.normal(size=(30, 2)) + 2])
    y = np.repeat([0, 1], 30)
    field = sx.UpDown(2, 2, activation="tanh")
    net = sx.Net(field, particles=4, readout=2, integrator=sx.Euler(steps=3), key=KEY)
    fitted = sx.fit(net, x, y, epochs=60, loss="cross_entropy", optimizer=sx.Optimizer(0.03))
    logits = np.asarray(fitted.net(x))
    assert np.mean(logits.argmax(1) == y) > 0.95
    mine = np.log(np.exp(logits).sum(1)) - logits[np.arange(60), y]
    again = sx.fit(fitted.net, x, y, epochs=1, batch_size=60, loss="cross_entropy")
    np.testing.assert_allclose(again.history["data"][0], mine.mean(), rtol=1e-9)


def test_a_user_s_loss():
    fitted = sx.fit(NET, X, Y, epochs=1, batch_size=10, loss=lambda a, b: jnp.abs(a - b)[0])
    expected = np.mean(np.abs(np.asarray(NET(X)) - Y))
    np.testing.assert_allclose(fitted.history["data"][0], expected, rtol=1e-10)


def test_larger_models_train_whole():
    second = sx.Net(sx.Affine(1, "tanh"), particles=2, integrator=sx.Euler(steps=2), key=KEY)
    chain = sx.Chain(NET, second)
    fitted = sx.fit(chain, X, Y, epochs=2)
    for before, after in zip(jax.tree.leaves(chain), jax.tree.leaves(fitted.net), strict=True):
        assert not np.array_equal(before, after)


def assert_last_good(error, epoch):
    """The error names the epoch, and holds a finite model with the history up to it."""
    result = error.result
    assert f"in epoch {epoch}" in str(error)
    assert all(
        np.isfinite(leaf).all() for leaf in jax.tree.leaves(eqx.filter(result.net, eqx.is_array))
    )
    assert len(result.history["objective"]) == epoch - 1
    assert np.isfinite(result.history["objective"]).all()


def test_divergence_returns_the_last_good_model():
    relu = sx.Net(sx.UpDown(1, 2), particles=3, integrator=sx.RK4(steps=2), key=KEY)
    wild = sx.Optimizer(1e8, schedule=sx.Constant())
    with pytest.raises(sx.DivergedError, match=r"learning rate was 1e\+08.*Lower the") as caught:
        sx.fit(relu, X, Y, epochs=50, optimizer=wild, batch_size=4)
    result = caught.value.result
    assert_last_good(caught.value, len(result.history["objective"]) + 1)


def test_a_loss_that_is_not_finite_from_the_start():
    """The model of the error is then the one that was handed in."""
    with pytest.raises(
        sx.DivergedError, match="batch 1 of 3: the data loss is nan and the penalty"
    ) as caught:
        sx.fit(NET, X, Y, epochs=5, batch_size=4, loss=lambda a, b: jnp.log(-jnp.abs(a[0])))
    assert_last_good(caught.value, 1)
    assert_same(caught.value.result.net, NET)


def test_a_gradient_that_is_not_finite():
    """The square root has a finite value and an infinite slope at zero."""
    with pytest.raises(sx.DivergedError, match="in epoch 1: the gradient is not finite"):
        sx.fit(NET, X, Y, epochs=2, batch_size=10, loss=lambda a, b: jnp.sqrt(0 * a[0]))


def test_progress_bar_goes_to_standard_error(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    sx.fit(NET, X, Y, epochs=2, progress=True)
    shown = capsys.readouterr()
    assert "Training" in shown.err
    assert "2/2" in shown.err
    assert shown.out == ""
    for silent in (False, None):
        sx.fit(NET, X, Y, epochs=2, progress=silent)
        assert capsys.readouterr() == ("", "")


def test_lists_and_whole_numbers_are_data():
    x = [[0], [1], [2]]
    fitted = sx.fit(NET, x, x, epochs=1)
    assert_same(fitted.net, sx.fit(NET, np.array(x, float), np.array(x, float), epochs=1).net)


def test_single_precision_data_and_double_parameters_train():
    fitted = sx.fit(NET, X.astype(np.float32), Y.astype(np.float32), epochs=1)
    assert fitted.net(X).dtype == jnp.float64


def test_one_program_serves_all_numbers():
    """A loss counts how often it is traced: not again for other epochs, seeds, rates and strengths."""
    traced = []

    def loss(a, b):
        traced.append(a)
        return (a - b)[0] ** 2

    sx.fit(NET, X, Y, epochs=1, loss=loss)
    first = len(traced)
    options = {"epochs": 3, "seed": 5, "data_strength": 2.0, "penalty_strength": 0.1}
    sx.fit(NET, X, Y, loss=loss, optimizer=sx.Optimizer(0.3), **options)
    sx.fit(NET, X, Y, loss=loss, epochs=2, callbacks=[print])
    assert len(traced) == first > 0
