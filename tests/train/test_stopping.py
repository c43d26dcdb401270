"""Early stopping, weights of held-out samples, samples of weight zero, and decay of parts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_same
from shootax._train import AbstractSchedule
from shootax._train.engine import make_problem
from shootax._train.epoch import start, take_apart
from shootax._train.loop import run_epochs
from shootax._train.stopping import Best

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
    fitted = sx.fit(NET, X, Y, epochs=40, patience=2, **{**OPTIONS, "learning_rate": 0.3})
    objective = fitted.history["objective"]
    assert len(objective) == int(np.argmin(objective)) + 1 + 2
    assert 3 < len(objective) < 40  # or nothing is tested here


def test_the_best_is_told_by_the_held_out_loss_alone():
    """Only the penalty is trained, so that the objective falls all the time; the held-out targets are
    the outputs at the start, from which the net moves away."""
    options = {**OPTIONS, "data_weight": 0.0, "validation": (X, NET(X))}
    best = sx.fit(NET, X, Y, epochs=5, keep_best=True, **options)
    assert np.all(np.diff(best.history["objective"]) < 0)
    assert np.all(np.diff(best.history["validation"]) > 0)
    assert_same(best.net, sx.fit(NET, X, Y, epochs=1, **options).net)


class Echo(AbstractSchedule):
    """A rate that is the loss of the last epoch, so that the history shows what a schedule sees."""

    def init(self):
        return jnp.ones(())

    def factor(self, state, progress):
        return state.astype(progress.dtype)

    def observe(self, state, loss):
        return loss.astype(state.dtype)


@pytest.mark.parametrize("held_out", [True, False])
def test_what_a_schedule_sees_weighs_loss_and_penalty(held_out):
    options = {"batch_size": 10, "data_weight": 7.0, "penalty_weight": 0.5, "learning_rate": 0.01}
    validation = HELD_OUT if held_out else None
    echo = sx.fit(NET, X, Y, epochs=2, schedule=Echo(), validation=validation, **options)
    first = sx.fit(NET, X, Y, epochs=1, schedule=sx.Constant(), **options)
    misfit = np.mean((np.asarray(first.net(X)) - HELD_OUT[1]) ** 2)
    want = 7.0 * misfit + 0.5 * float(sx.penalty(first.net))
    want = want if held_out else first.history["objective"][0]
    np.testing.assert_allclose(echo.history["learning_rate"], [0.01, 0.01 * want], rtol=1e-9)


def test_equal_losses_are_no_improvement():
    """With nothing to train for, every epoch has the same loss: the first is the best."""
    options = {**OPTIONS, "data_weight": 0.0, "penalty_weight": 0.0}
    fitted = sx.fit(NET, X, Y, epochs=20, patience=3, validation=HELD_OUT, **options)
    assert len(fitted.history["validation"]) == 1 + 3


def test_a_net_that_rests_stops_moving():
    """While others of its program go on, nothing of it changes, not even its random numbers."""
    problem = make_problem(NET, X, Y, patience=2, validation=HELD_OUT, **OPTIONS)
    vector, frame = take_apart(NET)
    state = start(vector, frame, problem.recipe, jax.random.key(0))
    inputs = (frame, problem.data, problem.validation, problem.settings, problem.recipe)
    run = eqx.filter_jit(run_epochs)
    waiting = state._replace(best=Best(vector, jnp.zeros(()), jnp.asarray(1)))
    resting = state._replace(best=Best(vector, jnp.zeros(()), jnp.asarray(2)))
    after, _ = run(jnp.asarray(1), waiting, *inputs)
    assert int(after.epoch) == 1
    assert not np.array_equal(after.parameters, vector)
    still, _ = run(jnp.asarray(3), resting, *inputs)
    assert_same(*(s._replace(key=jax.random.key_data(s.key)) for s in (still, resting)))


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
