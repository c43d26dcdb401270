"""Targets that do not fit the outputs are refused before the first epoch; clear ones just work."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_same

pytestmark = pytest.mark.usefixtures("standard_promotion")


def make(outputs, dim=2):
    field = sx.UpDown(dim, 2, activation="tanh")
    control = sx.Static(field, key=KEY)
    return sx.Net(field, control, readout=outputs, integrator=sx.Euler(steps=2), key=KEY)


X = np.random.default_rng(0).normal(size=(6, 2))
LABELS = np.array([0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (LABELS + 1, r"from 0 to 2, as the model has 3 outputs; got whole .* 1 to 3. Subtract 1"),
        (LABELS - 1, r"got whole numbers from -1 to 1. Number them with np.unique"),
        (LABELS + 0.5, "got numbers that are not whole from 0.5 to 2.5"),
        (np.eye(3)[LABELS], r"class numbers of shape \(6,\).*one-hot. Use y.argmax\(axis=1\)"),
        (np.ones((6, 2)), r"class numbers of shape \(6,\), got targets of shape \(6, 2\)"),
    ],
)
def test_labels_that_are_no_class_numbers(labels, message):
    with pytest.raises(ValueError, match=message):
        sx.fit(make(3), X, labels, epochs=1, loss="cross_entropy")


def test_labels_of_held_out_samples_are_looked_at():
    with pytest.raises(ValueError, match="validation targets must be class numbers"):
        sx.fit(make(3), X, LABELS, epochs=1, loss="cross_entropy", validation=(X, LABELS + 1))


def test_labels_of_samples_that_do_not_count_may_be_anything():
    weights = np.r_[np.ones(5), 0.0]
    labels = np.r_[LABELS[:5], -1]
    fitted = sx.fit(make(3), X, labels, epochs=1, loss="cross_entropy", sample_weight=weights)
    assert np.isfinite(fitted.history["objective"]).all()


def test_one_output_tells_no_classes_apart():
    with pytest.raises(ValueError, match=r"at least two classes, got \(6, 1\).*readout=2"):
        sx.fit(make(1), X, LABELS % 2, epochs=1, loss="cross_entropy")


@pytest.mark.parametrize("shape", [(6,), (6, 1), (6, 3), (6, 2, 1, 1)])
def test_targets_that_would_be_stretched(shape):
    with pytest.raises(ValueError, match=r"targets have shape .*outputs .* have shape \(6, 2\)"):
        sx.fit(make(2), X, np.ones(shape), epochs=1)


def test_the_number_of_outputs_is_said():
    with pytest.raises(ValueError, match=r"readout=3"):
        sx.fit(make(2), X, np.ones((6, 3)), epochs=1)


def test_a_column_is_a_target_for_one_output():
    y = X[:, 0] ** 2
    flat, column = (sx.fit(make(1), X, t, epochs=2, batch_size=4) for t in (y, y[:, None]))
    assert_same(flat.net, column.net)
    held = (sx.fit(make(1), X, y, epochs=1, validation=(X, t)) for t in (y, y[:, None]))
    first, second = (fitted.history["validation"] for fitted in held)
    np.testing.assert_array_equal(first, second)


def test_a_column_of_class_numbers():
    options = {"epochs": 1, "loss": "cross_entropy"}
    flat, column = (sx.fit(make(3), X, t, **options) for t in (LABELS, LABELS[:, None]))
    assert_same(flat.net, column.net)


def test_targets_at_times():
    times = np.array([0.5, 1.0])
    fitted = sx.fit(make(1), X, np.ones((6, 2)), epochs=1, times=times)
    assert np.isfinite(fitted.history["objective"]).all()
    with pytest.raises(ValueError, match=r"outputs of the model have shape \(6, 2, 1\)"):
        sx.fit(make(1), X, np.ones((6, 3)), epochs=1, times=times)


def test_a_user_s_loss_takes_what_it_likes():
    def first_only(prediction, target):
        return (prediction[0] - target) ** 2

    fitted = sx.fit(make(2), X, X[:, 0], epochs=1, loss=first_only)
    assert np.isfinite(fitted.history["objective"]).all()


class Drawn(sx.AbstractSampler):
    flat: bool

    def __call__(self, key):
        x = jax.random.normal(key, (6, 2))
        y = jnp.sum(x, axis=1)
        return x, y if self.flat else y[:, None]


def test_what_a_sampler_draws_is_looked_at():
    sx.fit(make(1), Drawn(False), epochs=1)
    with pytest.raises(ValueError, match=r"draw targets of shape \(6, 1\).*got \(6,\)"):
        sx.fit(make(1), Drawn(True), epochs=1)
