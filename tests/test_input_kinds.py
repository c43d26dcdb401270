"""Lists and frames of pandas are data, for `fit` and for a net."""

import numpy as np
import pytest

import shootax as sx
from cases import KEY, Pendulum, assert_same, inputs
from shootax import _checks as checks
from shootax._arrays import model_inputs

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(2, 2, activation="tanh")
NET = sx.Net(FIELD, sx.Static(FIELD, key=KEY), readout=1, integrator=sx.Euler(steps=2), key=KEY)
X = [[0, 1], [1, 0], [2, 1], [0.5, -1]]
Y = [0, 1, 2, 1]


def test_lists_are_data_for_a_net():
    np.testing.assert_array_equal(NET(X), NET(np.array(X)))
    np.testing.assert_array_equal(NET([tuple(row) for row in X]), NET(np.array(X)))


def test_what_is_on_the_host_is_checked_there():
    for wrong, message in (
        (np.array([[0.0, np.nan]]), "NaN"),
        (np.array([[-np.inf, 0.0]]), "infinity"),
        (np.array([["a", "b"]]), "must hold numbers, got an array of dtype"),
    ):
        with pytest.raises(ValueError, match=message):
            model_inputs(wrong, float)
        with pytest.raises(ValueError, match=message):
            checks.finite(wrong, "x")


def test_lists_are_data_for_fit():
    want = sx.fit(NET, np.array(X), np.array(Y)[:, None], epochs=1).net
    assert_same(sx.fit(NET, X, Y, epochs=1).net, want)
    fitted = sx.fit(NET, X, Y, epochs=1, validation=(X, Y), sample_weight=[1, 1, 1, 1])
    assert_same(fitted.net, want)


def test_frames_are_data():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b"])
    frame["a"] = frame["a"].astype("Float64")  # pandas' own kind, which NumPy sees as objects
    np.testing.assert_array_equal(NET(frame), NET(np.array(X)))
    want = sx.fit(NET, np.array(X), np.array(Y)[:, None], epochs=1).net
    assert_same(sx.fit(NET, frame, pandas.Series(Y), epochs=1).net, want)
    frame["b"] = ["one", "two", "three", "four"]
    with pytest.raises(ValueError, match="numbers, got an array of dtype"):
        NET(frame)
    with pytest.raises(ValueError, match="numbers, got an array of dtype"):
        sx.fit(NET, frame, pandas.Series(Y), epochs=1)


def test_words_are_not_data():
    with pytest.raises(ValueError, match="numbers, got an array of dtype"):
        NET([["0", "1"]])


def test_trees_of_arrays_stay_trees():
    net = sx.Net(Pendulum(), particles=2, integrator=sx.Euler(steps=1), key=KEY)
    x = inputs(Pendulum())
    lists = {name: np.asarray(part).tolist() for name, part in x.items()}
    np.testing.assert_array_equal(net(lists)["v"], net(x)["v"])


def test_masked_entries_are_missing():
    x = np.ma.array(X, mask=np.arange(8).reshape(4, 2) == 5)
    with pytest.raises(ValueError, match=r"NaN at index \(2, 1\)"):
        NET(x)
    with pytest.raises(ValueError, match=r"x must be finite.*NaN at index \(2, 1\)"):
        sx.fit(NET, x, Y, epochs=1)
    with pytest.raises(ValueError, match=r"y must be finite.*NaN at index \(3,\)"):
        sx.fit(NET, X, np.ma.array(Y, mask=[0, 0, 0, 1]), epochs=1)
    with pytest.raises(ValueError, match="sample_weight must be 4 finite numbers"):
        sx.fit(NET, X, Y, sample_weight=np.ma.array([1, 1, 1, 1], mask=[0, 0, 0, 1]), epochs=1)
    with pytest.raises(ValueError, match="not finite"):
        sx.fit(NET, iter([(x, np.array(Y))]), epochs=1, steps_per_epoch=1)
    np.testing.assert_array_equal(NET(np.ma.array(X)), NET(np.array(X)))


def test_sparse_matrices_get_advice():
    class Sparse:  # as in SciPy, of which NumPy makes a single object
        shape = (4, 2)

        def __iter__(self):
            return iter(X)

        def toarray(self):
            return np.array(X)

    with pytest.raises(ValueError, match=r"sparse Sparse.*x\.toarray\(\)"):
        NET(Sparse())
    with pytest.raises(ValueError, match=r"sparse Sparse.*x\.toarray\(\)"):
        sx.fit(NET, Sparse(), Y, epochs=1)


def test_numbers_too_large_for_single_precision():
    x = np.array([[1.0, 2.0], [1e300, 0.0]])
    with pytest.raises(ValueError, match=r"too large for float32 .* 1e\+300 at index \(1, 0\)"):
        model_inputs(x, np.float32)
    np.testing.assert_array_equal(model_inputs(x, np.float64), x)
