"""Points in a disc and in a ring."""

import numpy as np
import pytest

from shootax.data import annuli


def test_radii_and_classes():
    x, y = annuli(4000, 8000, seed=0)
    radius = np.linalg.norm(x, axis=1)
    assert (radius[y == 0] <= 0.5).all()
    assert ((radius[y == 1] >= 1) & (radius[y == 1] <= 1.5)).all()
    assert [int((y == label).sum()) for label in (0, 1)] == [4000, 8000]


def test_points_are_even_over_the_area():
    x, y = annuli(20_000, 20_000, seed=1)
    radius = np.linalg.norm(x, axis=1)
    np.testing.assert_allclose(np.mean(radius[y == 0] < 0.25), 1 / 4, atol=0.012)
    np.testing.assert_allclose(np.mean(radius[y == 1] < 1.25), (1.25**2 - 1) / 1.25, atol=0.012)
    np.testing.assert_allclose(x.mean(0), 0, atol=0.02)


def test_seeds():
    assert np.array_equal(annuli(5, 5, seed=3)[0], annuli(5, 5, seed=3)[0])
    assert not np.array_equal(annuli(5, 5, seed=3)[0], annuli(5, 5, seed=4)[0])


def test_no_points():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        annuli(0, 5, seed=0)
