"""Early stopping, weights of held-out samples, samples of weight zero, and decay of parts."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_same
from shootax._train import AbstractSchedule
from shootax._train.epoch import start
from shootax._train.loop import run_epochs
from shootax._train.problem import make_problem
from shootax._train.stopping import DIVERGED, RUNNING, STOPPED, Best
from shootax._train.update import take_apart

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, sx.Static(FIELD, key=KEY), integrator=sx.Euler(steps=2), key=KEY)
X = np.linspace(-1, 1, 10)[:, None]
Y = X**2
# Training moves away from these targets after a while: their loss has a minimum.
HELD_OUT = (X, 0.3 * X**2)
OPTIONS = {"batch_size": 10, "optimizer": sx.Optimizer(0.05, schedule=sx.Constant())}


def test_the_best_epoch_is_kept_and_patience_ends():
    losses = sx.fit(NET, X, Y, epochs=60, validation=HELD_OUT, **OPTIONS).history["validation"]
    # The first epoch that no other within eight epochs is better than.
    best = next(i for i in range(60) if losses[i] == losses[: i + 9].min())
    assert 0 < best < 50  # or nothing is tested here
    stopped = sx.fit(
        NET, X, Y, epochs=60, validation=sx.Validation(HELD_OUT, patience=8), **OPTIONS
    )
    assert len(stopped.history["objective"]) == best + 1 + 8
    first = sx.fit(NET, X, Y, epochs=best + 1, validation=HELD_OUT, **OPTIONS)
    assert_same(stopped.net, first.net)


def test_without_held_out_samples_the_objective_is_watched():
    fast = sx.Optimizer(0.3, schedule=sx.Constant())
    options = {"batch_size": 10, "optimizer": fast, "validation": sx.Validation(None, patience=2)}
    fitted = sx.fit(NET, X, Y, epochs=40, **options)
    objective = fitted.history["objective"]
    assert len(objective) == int(np.argmin(objective)) + 1 + 2
    assert 3 < len(objective) < 40  # or nothing is tested here


def test_the_best_is_told_by_the_held_out_loss_alone():
    """Only the penalty is trained, so that the objective falls all the time; the held-out targets are
    the outputs at the start, from which the net moves away."""
    options = {**OPTIONS, "data_strength": 0.0, "validation": (X, NET(X))}
    judge = sx.Validation(options["validation"], keep_best=True)
    best = sx.fit(NET, X, Y, epochs=5, **{**options, "validation": judge})
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
    options = {"batch_size": 10, "data_strength": 7.0, "penalty_strength": 0.5}
    validation = HELD_OUT if held_out else None
    echoing, constant = (sx.Optimizer(schedule=each) for each in (Echo(), sx.Constant()))
    echo = sx.fit(NET, X, Y, epochs=2, optimizer=echoing, validation=validation, **options)
    first = sx.fit(NET, X, Y, epochs=1, optimizer=constant, **options)
    misfit = np.mean((np.asarray(first.net(X)) - HELD_OUT[1]) ** 2)
    want = 7.0 * misfit + 0.5 * float(sx.penalty(first.net))
    want = want if held_out else first.history["objective"][0]
    np.testing.assert_allclose(echo.history["learning_rate"], [0.01, 0.01 * want], rtol=1e-9)


def test_equal_losses_are_no_improvement():
    """With nothing to train for, every epoch has the same loss: the first is the best."""
    options = {**OPTIONS, "data_strength": 0.0, "penalty_strength": 0.0}
    fitted = sx.fit(NET, X, Y, epochs=20, validation=sx.Validation(HELD_OUT, patience=3), **options)
    assert len(fitted.history["validation"]) == 1 + 3


@pytest.fixture
def stopped_early():
    """The compiled loop of a training with patience, and its first state."""
    shared = {"loss": "mse", "data_strength": 100.0, "penalty_strength": 1.0, "epochs": 9}
    rest = {"times": None, "sample_weight": None, "callbacks": (), "seed": 0}
    judge = sx.Validation(HELD_OUT, patience=2)
    problem = make_problem(NET, X, Y, validation=judge, **shared, **rest, **OPTIONS)
    vector, frame = take_apart(NET)
    state = start(vector, frame, problem.recipe)
    inputs = (frame, problem.data, problem.validation, problem.settings, problem.recipe)
    run = eqx.filter_jit(run_epochs)
    order = jax.tree.map(lambda leaf: jnp.asarray(leaf[0]), problem.orders([0]).draw(4))
    return state, lambda number, state: run(jnp.asarray(number), state, order, *inputs)


def test_a_net_that_does_not_run_stays_as_it_is(stopped_early):
    """While others of its program go on, nothing of it changes."""
    state, run = stopped_early
    for status in (STOPPED, DIVERGED):
        resting = state._replace(status=jnp.asarray(status))
        still, reports = run(3, resting)
        assert_same(still, resting)
        assert not np.any(reports.ran)


def test_patience_ends_inside_the_program(stopped_early):
    """Nothing is better than a loss of zero: the second epoch is the last of four."""
    state, run = stopped_early
    vector = state.moving.parameters
    after, reports = run(4, state._replace(best=Best(vector, jnp.zeros(()), jnp.asarray(0))))
    assert int(after.epoch) == 2
    assert not np.array_equal(after.moving.parameters, vector)
    np.testing.assert_array_equal(reports.ran[:4], [True, True, False, False])
    np.testing.assert_array_equal(reports.status[:4], [RUNNING, STOPPED, STOPPED, STOPPED])


def test_many_nets_stop_each_by_itself():
    def make(seed):
        key = jax.random.key(seed)
        control = sx.Static(FIELD, key=key)
        return sx.Net(FIELD, control, integrator=sx.Euler(steps=2), key=key)

    nets = [make(0), make(1), make(2)]
    options = {"validation": sx.Validation(HELD_OUT, patience=4), **OPTIONS}
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
    with pytest.raises(ValueError, match=r"sample_weight.*; got a tuple of length 5"):
        sx.fit(NET, X, Y, epochs=1, validation=(*HELD_OUT, weights, None, None))


def test_samples_of_weight_zero_are_not_there():
    """With batches of all samples, the result and the history are those of the others alone."""
    weights = np.r_[np.ones(4), np.zeros(6)]
    options = {**OPTIONS, "epochs": 3}
    padded = sx.fit(NET, X, Y, sample_weight=weights, **options)
    alone = sx.fit(NET, X[:4], Y[:4], **{**options, "batch_size": 4})
    np.testing.assert_allclose(padded.net(X), alone.net(X), rtol=1e-9)
    for name in ("objective", "data", "penalty"):
        np.testing.assert_allclose(padded.history[name], alone.history[name], rtol=1e-9)


def test_batches_of_nothing_are_passed_over():
    """Batches of two: one or two with samples, the others without; the momenta of Adam see only the
    first."""
    weights = np.r_[1.0, 1.0, np.zeros(8)]
    options = {**OPTIONS, "epochs": 3, "batch_size": 2}
    padded = sx.fit(NET, X, Y, sample_weight=weights, **options)
    alone = sx.fit(NET, X[:2], Y[:2], **options)
    np.testing.assert_allclose(padded.net(X), alone.net(X), rtol=1e-9)
    np.testing.assert_allclose(padded.history["data"], alone.history["data"], rtol=1e-9)


def test_a_part_decays():
    """Without a gradient there is decay alone: each step takes rate · decay of what is left."""
    decaying = sx.Optimizer(0.1, schedule=sx.Constant(), weight_decay={"lift.weight": 0.5})
    options = {"data_strength": 0.0, "penalty_strength": 0.0, "batch_size": 5}
    fitted = sx.fit(NET, X, Y, epochs=2, optimizer=decaying, **options)
    np.testing.assert_allclose(fitted.net.lift.weight, 0.95**4 * NET.lift.weight, rtol=1e-10)
    np.testing.assert_array_equal(fitted.net.lift.bias, NET.lift.bias)
    with pytest.raises(ValueError, match="nothing called 'wings' to decay"):
        sx.fit(NET, X, Y, epochs=1, optimizer=sx.Optimizer(weight_decay={"wings": 0.1}))


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((0.1,), {"patience": 0}, "patience must be a whole number of at least 1, got 0"),
        ((0.1,), {"patience": "long"}, "patience must be a whole number"),
        ((0.1,), {"keep_best": "yes"}, "keep_best must be True or False, got 'yes'"),
        ((None,), {"keep_best": True}, "keep_best needs validation data"),
        (("0.1",), {}, "`validation` must be a fraction such as 0.1.*got '0.1'"),
        (([X, Y],), {}, "got a list"),
        ((True,), {}, "got a bool"),
        ((X,), {}, "got a ndarray"),
    ],
)
def test_validation_of_the_wrong_kind(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        sx.Validation(*arguments, **options)
