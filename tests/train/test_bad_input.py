"""What is handed to `fit` in a wrong form gets a message that says how to give it."""

import equinox as eqx
import jax
import numpy as np
import pytest

import shootax as sx
from cases import KEY
from shootax._train.samples import AbstractSampler

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, sx.Static(FIELD, key=KEY), integrator=sx.Euler(steps=2), key=KEY)
TWO = sx.Net(FIELD, sx.Static(FIELD, key=KEY), readout=2, integrator=sx.Euler(steps=2), key=KEY)
X = np.linspace(-1, 1, 4)[:, None]


class Draws(AbstractSampler):
    def __call__(self, key):
        return jax.numpy.asarray(X), jax.numpy.asarray(X)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((X, X, NET), {}, r"model, got an array of shape \(4, 1\). The order is fit\(net, x, y\)"),
        (("net", X), {}, "must be a model, got 'net'"),
        ((Draws(), X), {}, "must be a model, got a Draws"),
        ((X.tolist(), X), {}, "must be a model, got a list"),
        ((np.tanh, X, X), {}, "has no parameters to train"),
        ((NET, NET, X), {}, "x must be arrays or a sx.AbstractSampler, got a Net"),
        ((NET, X), {}, r"no targets: give them as fit\(net, x, y\)"),
        (
            (NET, X, X),
            {"seed": "one"},
            r"seed must be a whole number from 0 to 2\*\*32 - 1, got 'one'",
        ),
        ((NET, X, X), {"seed": 0.5}, "seed must be a whole number .* got 0.5"),
        ((NET, X, X), {"seed": 2**70}, "seed must be a whole number"),
        ((NET, X, X), {"seed": -1}, "seed must be a whole number"),
        ((NET, X, X), {"seed": None}, "seed must be a whole number"),
        ((NET, X, X), {"progress": "yes"}, "progress must be True, False.*got 'yes'"),
        ((NET, X, X), {"checkpoint": 3}, "checkpoint must be the path of a file, got 3"),
        ((NET, X, X), {"loss": 3}, "loss must be one of mse.*got 3"),
        ((NET, X, X), {"data_strength": "1"}, "data_strength must be"),
        ((NET, X, X), {"penalty_strength": None}, "penalty_strength must be a finite number"),
        ((NET, X, X), {"times": 0.5}, "times must be numbers of shape"),
        ((NET, X, X), {"times": "late"}, "times must be numbers of shape"),
        ((NET, X, X), {"validation": "some"}, "`validation` must be a fraction.*got 'some'"),
        ((NET, X, X), {"validation": float("nan")}, "fraction that leaves samples"),
        ((TWO, X, np.eye(2)[[0, 1, 0, 1]]), {"loss": "cross_entropy"}, "which look one-hot"),
    ],
)
def test_fit(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        sx.fit(*arguments, **{"epochs": 1, **options})


def test_a_result_is_not_a_model():
    result = sx.fit(NET, X, X, epochs=1)
    with pytest.raises(TypeError, match=r"not a model. Call its `.net`"):
        result(X)


def test_a_loss_of_one_s_own_can_do_without_targets():
    fitted = sx.fit(NET, X, epochs=1, batch_size=4, loss=lambda a, _: a[0] ** 2)
    expected = np.mean(np.asarray(NET(X)) ** 2)
    np.testing.assert_allclose(fitted.history["data"][0], expected, rtol=1e-10)


def test_numpy_numbers_are_seeds():
    first, again = (sx.fit(NET, X, X, epochs=1, seed=seed) for seed in (3, np.int64(3)))
    np.testing.assert_array_equal(first.history["data"], again.history["data"])


def test_a_training_does_not_run_inside_a_transformation():
    def data_loss(x, net=NET):
        return sx.fit(net, x, X, epochs=1).history["data"][0]

    for transformed in (jax.jit(data_loss), jax.grad(data_loss)):
        with pytest.raises(ValueError, match=r"cannot run inside jax.jit, grad or vmap"):
            transformed(jax.numpy.asarray(X))
    with pytest.raises(ValueError, match=r"cannot run inside jax.jit, grad or vmap"):
        eqx.filter_jit(lambda net: data_loss(X, net))(NET)
