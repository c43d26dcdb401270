"""Interpolation of cubic polynomials, which is exact."""

import jax
import numpy as np
import pytest

from shootax._fields.host import run
from shootax._integrators.interpolation import hermite

CUBIC = np.polynomial.Polynomial([0.3, -1.0, 0.7, 0.4])


def interpolated(s, h, *values):
    """Computed by NumPy, as compiling takes longer."""
    program = jax.make_jaxpr(lambda s, *values: hermite(s, h, *values))(s, *values)
    return run(program, [s, *values])[0]


@pytest.mark.parametrize("h", [0.5, -0.25])
def test_cubics_are_exact_to_both_ends(h):
    grid = h * np.arange(4)
    slopes = CUBIC.deriv()(grid)[:, None]
    values = (CUBIC(grid)[:, None], slopes[:-1], slopes[1:])
    s = np.array([0.0, 0.3, 1.0, 1.9, 2.0, 2.75, 3.0])
    np.testing.assert_allclose(interpolated(s, h, *values)[:, 0], CUBIC(h * s), atol=1e-14)
    # Two samples, each with times of its own.
    both = [np.concatenate([value, 2 * value], axis=1) for value in values]
    found = interpolated(np.array([s, s[::-1]]), h, *both)
    np.testing.assert_allclose(found, [CUBIC(h * s), 2 * CUBIC(h * s[::-1])], atol=1e-14)
