"""Small parts of exports: what the reader computes, and sizes that depend on the batch."""

import numpy as np
import pytest
from scipy.special import expit

from shootax.export import reader
from shootax.export._graph import Dim, Op, Value
from shootax.export._numpy import is_matrix_product
from shootax.export._onnx import _product

X = np.arange(12.0).reshape(3, 4)


def test_logistic():
    s = np.linspace(-30, 30, 9)
    np.testing.assert_allclose(reader.logistic(s), expit(s), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("part", [(0, 3, 1), (1, 3, 2), (2, 2, 1), (None, None, None)])
def test_ranges_within_the_array_are_cut(part):
    np.testing.assert_array_equal(reader.cut(X, [part]), X[slice(*part)])


@pytest.mark.parametrize("part", [(-1, 2, 1), (2, 1, 1), (0, 4, 1), (0, 3, 0), (0, 3, -1)])
def test_ranges_beyond_the_array_are_refused(part):
    with pytest.raises(ValueError, match="the range"):
        reader.cut(X, [part])
    with pytest.raises(ValueError, match="2 ranges for an array of shape"):
        reader.cut(X[0], [(0, 1, 1), (0, 1, 1)])


def test_pieces_have_a_start_for_each_axis():
    np.testing.assert_array_equal(reader.piece(X, 1, 2, sizes=(2, 2)), X[1:3, 2:4])
    with pytest.raises(ValueError, match="1 starts for 2 sizes"):
        reader.piece(X, 1, sizes=(2, 2))
    with pytest.raises(ValueError, match="the range 2:4:1"):
        reader.piece(X, 2, 0, sizes=(2, 2))


def test_what_is_wrong_is_shown_in_short():
    assert reader.show("a") == "'a'"
    assert reader.show([1]) == "list"
    assert reader.show("x" * 58) == repr("x" * 58)
    assert reader.show("x" * 59) == repr("x" * 59)[:60] + "..."


@pytest.mark.parametrize(
    ("spec", "known"),
    [("ab,bc->ac", 1), ("ab,cb->ac", 0), ("ab,bc->ca", 0), ("ab,bc->ab", 0), ("abc,cd->abd", 0)],
)
def test_products_of_two_matrices_are_recognised(spec, known):
    value = Value("a", (2, 2), "float32")
    assert is_matrix_product(Op("einsum", [value, value], {"spec": spec}, value)) == bool(known)
    assert not is_matrix_product(Op("add", [value, value], {}, value))


def test_sizes_times_an_open_one():
    assert _product([2, 3]) == 6
    assert _product([Dim(2, 1), 3, 4]) == Dim(24, 12)
