"""The spiral against another solver, its length against a polygon, and how snippets are drawn."""

import jax
import numpy as np
import pytest

from shootax.data import SpiralSnippets, snippets, spiral
from shootax.data._spiral import START, velocity


def taylor(x, step, order=24):
    """One step of the Taylor series of x' = A x³, whose coefficients follow from a recursion."""
    from shootax.data._spiral import A

    series = np.zeros((order + 1, 2))
    series[0] = x
    for k in range(order):
        square = [sum(series[i] * series[j - i] for i in range(j + 1)) for j in range(k + 1)]
        cube = sum(square[j] * series[k - j] for j in range(k + 1))
        series[k + 1] = cube @ A / (k + 1)
    return sum(series[k] * step**k for k in range(order + 1))


def test_truth_by_taylor_series():
    curve = spiral()
    assert curve.x.shape == (200, 2)
    state, parts = START, 8
    for index in range(1, 60):
        for _ in range(parts):
            state = taylor(state, 10 / 199 / parts)
        np.testing.assert_allclose(curve.x[index], state, atol=1e-10)


def test_velocity_is_that_of_the_neural_ode_example():
    np.testing.assert_allclose(velocity(np.array([2.0, 0.0])), [-0.8, 16.0])
    np.testing.assert_allclose(velocity(np.array([0.0, 1.0])), [-2.0, -0.1])


def test_length_by_polygon():
    fine = spiral(20_001)
    polygon = np.r_[0, np.cumsum(np.linalg.norm(np.diff(fine.x, axis=0), axis=1))]
    np.testing.assert_allclose(fine.length, polygon, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(spiral().length[-1], polygon[-1], rtol=1e-5)


def test_snippets_are_pieces_of_the_curve():
    x, y = snippets(spiral(), np.array([0, 195]), 5)
    np.testing.assert_array_equal(x, y[:, 0])
    np.testing.assert_allclose(y[1], spiral().x[195:])


def test_starts_are_even_along_the_curve():
    """By length, not by time: the curve is fast at first."""
    curve = spiral()
    x, y = SpiralSnippets(curve, 20_000, 5)(jax.random.key(0))
    assert y.shape == (20_000, 5, 2)
    first = np.argmin(np.abs(np.asarray(x)[:, None] - curve.x[None]).sum(-1), axis=1)
    assert first.min() == 0
    assert first.max() == 195
    expected = curve.length[100] / curve.length[196]
    assert expected > 0.6  # so that even in time would be seen
    np.testing.assert_allclose(np.mean(first < 100), expected, atol=0.015)


def test_a_snippet_longer_than_the_curve():
    with pytest.raises(ValueError, match="longer than the curve"):
        SpiralSnippets(spiral(10), 5, 11)
