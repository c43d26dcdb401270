"""One program for any number of samples, and the same numbers as by JAX's own random orders."""

import dataclasses

import jax
import numpy as np
import optax
import pytest

import shootax as sx
from shootax._train.orders import (
    Orders,
    few_batch_sizes,
    room_for_training,
    room_for_validation,
)
from shootax._train.samples import Data

X = np.random.default_rng(0).uniform(-1, 1, (1100, 1))
Y = X**2


def net(seed=0):
    field = sx.UpDown(dim=1, inflation=2)
    return sx.Net(field, particles=2, integrator=sx.Euler(2), key=jax.random.key(seed))


class Counted:
    """A loss that knows how often it was traced: once or more for each compiled program."""

    def __init__(self):
        self.traces = 0

    def __call__(self, prediction, target):
        self.traces += 1
        return ((prediction - target) ** 2).sum()


@pytest.mark.usefixtures("standard_promotion")
def test_one_program_serves_other_numbers():
    loss = Counted()
    sx.fit(net(), X[:500], Y[:500], epochs=2, loss=loss)
    first = loss.traces
    assert first > 0
    faster = dataclasses.replace(sx.extend.recommended(net(), epochs=3), learning_rate=0.03)
    sx.fit(net(1), X[:70], Y[:70], epochs=1, loss=loss)
    sx.fit(net(1), X[:1001], Y[:1001], epochs=3, loss=loss, seed=4, optimizer=faster)
    weight = np.ones(333)
    weight[::2] = 0
    sx.fit(net(), X[:333], Y[:333], epochs=1, loss=loss, sample_weight=weight, data_strength=2.0)
    sx.fit(net(), X[:26], Y[:26], epochs=1, loss=loss)  # less than a batch, more than half of one
    assert loss.traces == first
    sx.fit(net(), X, Y, epochs=1, loss=loss)  # past the next power of two
    assert loss.traces > first


@pytest.mark.usefixtures("standard_promotion")
def test_one_program_serves_other_validation_sets():
    loss = Counted()

    def train(samples, held_out):
        validation = sx.Validation((X[:held_out], Y[:held_out]), patience=2)
        sx.fit(net(), X[:samples], Y[:samples], epochs=1, loss=loss, validation=validation)

    train(200, 60)
    first = loss.traces
    train(300, 9)
    train(100, 64)
    assert loss.traces == first


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "with gaps"])
def test_training_is_that_of_a_loop_with_the_orders_of_jax(weighted):
    """An independent loop: JAX's own keys and orders, Optax's Adam, one batch after the other."""
    samples, batch, epochs = 23, 5, 2
    x, y = X[:samples], Y[:samples]
    weight = np.ones(samples)
    if weighted:
        weight[[2, 3, 5, 7, 11, 13]] = 0
        weight[1] = 3
    told = sx.Optimizer(0.02, schedule=sx.Constant())
    fitted = sx.fit(
        net(), x, y, epochs=epochs, batch_size=batch, optimizer=told, sample_weight=weight, seed=7
    )

    def objective(model, index):
        squares = ((model(x[index]) - y[index]) ** 2).mean(axis=1)
        data = (squares * weight[index]).sum() / weight[index].sum()
        return 100 * data + sx.penalty(model)

    model, adam = net(), optax.adam(0.02)
    state, key, losses = adam.init(model), jax.random.key(7), []
    for _ in range(epochs):
        key, order_key = jax.random.split(key)
        order = np.asarray(jax.random.permutation(order_key, samples))
        order = np.concatenate([order[weight[order] > 0], order[weight[order] == 0]])
        real, total = int((weight > 0).sum()), []
        for start in range(0, real, batch):
            index = order[start : start + batch]
            value, slope = jax.value_and_grad(objective)(model, index)
            updates, state = adam.update(slope, state)
            model = optax.apply_updates(model, updates)
            total.append(float(value))
        losses.append(np.mean(total))
    np.testing.assert_allclose(fitted.history["objective"], losses, rtol=1e-10)
    for got, want in zip(jax.tree.leaves(fitted.net), jax.tree.leaves(model), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)


def test_orders_go_on_where_they_were_left():
    weight = np.ones(9)
    whole = Orders([3, 4], weight, 4, 5, fresh=True).draw(3)
    parts = Orders([3, 4], weight, 4, 5, fresh=True)
    parts.skip(1)
    rest = parts.draw(2)
    np.testing.assert_array_equal(rest.chosen[:, :2], whole.chosen[:, 1:3])
    np.testing.assert_array_equal(rest.key[:, :2], whole.key[:, 1:3])
    assert whole.chosen.shape == (2, 50, 5, 4)
    for epoch in whole.chosen[:, :3].reshape(6, -1):
        assert sorted(epoch[:9]) == list(range(9))


@pytest.mark.parametrize(
    ("wanted", "samples", "got"),
    [(50, 500, 50), (50, 26, 50), (50, 25, 32), (50, 3, 4), (50, 1, 1)],
)
def test_few_sizes_of_batches(wanted, samples, got):
    assert few_batch_sizes(wanted, samples) == got


def test_arrays_are_filled_up_with_samples_that_do_not_count():
    data = Data(jax.numpy.asarray(X), jax.numpy.asarray(Y), jax.numpy.ones(1100), None)
    for filled, room in ((room_for_training(data), 2048), (room_for_validation(data), 1152)):
        assert filled.x.shape == (room, 1)
        assert float(filled.sample_weight.sum()) == 1100
        np.testing.assert_array_equal(filled.x[:1100], X)
        assert np.isfinite(np.asarray(filled.x)).all()


def test_large_data_are_not_copied():
    x = jax.numpy.zeros((1100, 16_000), jax.numpy.float32)
    data = Data(x, x[:, :1], jax.numpy.ones(1100), None)
    assert room_for_training(data) is data
