"""Early stopping, weights of held-out samples, samples of weight zero, and decay of parts."""

import jax
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_same

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, sx.Static(FIELD, key=KEY), integrator=sx.Euler(steps=2), key=KEY)
X = np.linspace(-1, 1, 10)[:, None]
Y = X**2
# Training moves away from these targets after a while: their loss has a minimum.
HELD_OUT = (X, 0.3 * X**2)
OPTIONS = {"batch_size": 10, "learning_rate": 0.05, "schedule": sx.Constant()}


def test_the_best_epoch_is_kept_and_patience_ends():
    losses = sx.fit(NET, X, Y, epochs=60, validation=HELD_OUT, **OPTIONS).history["validation"]
    # The first epoch that no other within eight epochs is better than.
    best = next(i for i in range(60) if losses[i] == losses[: i + 9].min())
    assert 0 < best < 50  # or nothing is tested here
    stopped = sx.fit(NET, X, Y, epochs=60, validation=HELD_OUT, patience=8, **OPTIONS)
    assert len(stopped.history["objective"]) == best + 1 + 8
    first = sx.fit(NET, X, Y, epochs=best + 1, validation=HELD_OUT, **OPTIONS)
    assert_same(stopped.net, first.net)


def test_without_held_out_samples_the_objective_is_watched():
    fitted = sx.fit(NET, X, Y, epochs=40, patience=3, **{**OPTIONS, "learning_rate": 1.0})
    objective = fitted.history["objective"]
    assert len(objective) in (40, int(np.argmin(objective)) + 1 + 3)


def test_many_nets_stop_each_by_itself():
    def make(seed):
        key = jax.random.key(seed)
        control = sx.Static(FIELD, key=key)
        return sx.Net(FIELD, control, integrator=sx.Euler(steps=2), key=key)

    nets, options = [make(0), make(1), make(2)], {"validation": HELD_OUT, "patience": 4, **OPTIONS}
    many = sx.fit_many(nets, X, Y, seeds=[0, 0, 0], together=True, epochs=60, **options)
    alone = [sx.fit(net, X, Y, epochs=60, **options) for net in nets]
    assert len({len(fit.history["objective"]) for fit in alone}) > 1
    for a, b in zip(many, alone, strict=True):
        np.testing.assert_allclose(a.history["validation"], b.history["validation"], rtol=1e-9)
        np.testing.assert_allclose(a.net(X), b.net(X), rtol=1e-9)


def test_weights_of_held_out_samples():
    weights = np.r_[np.ones(4), np.zeros(6)]
    fitted = sx.fit(NET, X, Y, epochs=1, validation=(*HELD_OUT, weights), **OPTIONS)
    expected = np.mean((np.asarray(fitted.net(X)) - HELD_OUT[1])[:4] ** 2)
    np.testing.assert_allclose(fitted.history["validation"][0], expected, rtol=1e-10)
    with pytest.raises(ValueError, match=r"\(x, y, weights\) or .* got 5 things"):
        sx.fit(NET, X, Y, epochs=1, validation=(*HELD_OUT, weights, None, None))


def test_samples_of_weight_zero_are_not_there():
    """With batches of all samples, the result and the history are those of the others alone."""
    weights = np.r_[np.ones(4), np.zeros(6)]
    options = {**OPTIONS, "epochs": 3}
    padded = sx.fit(NET, X, Y, weights=weights, **options)
    alone = sx.fit(NET, X[:4], Y[:4], **{**options, "batch_size": 4})
    np.testing.assert_allclose(padded.net(X), alone.net(X), rtol=1e-9)
    for name in ("objective", "data", "penalty"):
        np.testing.assert_allclose(padded.history[name], alone.history[name], rtol=1e-9)


def test_batches_of_nothing_are_passed_over():
    """Batches of two: one or two with samples, the others without; the momenta of Adam see only the
    first."""
    weights = np.r_[1.0, 1.0, np.zeros(8)]
    options = {**OPTIONS, "epochs": 3, "batch_size": 2}
    padded = sx.fit(NET, X, Y, weights=weights, **options)
    alone = sx.fit(NET, X[:2], Y[:2], **options)
    np.testing.assert_allclose(padded.net(X), alone.net(X), rtol=1e-9)
    np.testing.assert_allclose(padded.history["data"], alone.history["data"], rtol=1e-9)


def test_a_part_decays():
    """Without a gradient there is decay alone: each step takes rate · decay of what is left."""
    fitted = sx.fit(
        NET, X, Y, epochs=2, batch_size=5, learning_rate=0.1, schedule=sx.Constant(),
        data_weight=0.0, penalty_weight=0.0, weight_decay={"lift.weight": 0.5},
    )  # fmt: skip
    np.testing.assert_allclose(fitted.net.lift.weight, 0.95**4 * NET.lift.weight, rtol=1e-10)
    np.testing.assert_array_equal(fitted.net.lift.bias, NET.lift.bias)
    with pytest.raises(ValueError, match="nothing called 'wings' to decay"):
        sx.fit(NET, X, Y, epochs=1, weight_decay={"wings": 0.1})


def test_patience_is_a_number():
    with pytest.raises(ValueError, match="patience must be a whole number of at least 1, got 0"):
        sx.fit(NET, X, Y, epochs=1, patience=0)
