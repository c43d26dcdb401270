"""Small parts of fields: when two fields agree, parts of a span, and default momenta."""

import numpy as np
import pytest

import shootax as sx
from shootax._fields.agreement import _close
from shootax._fields.inference import _within

CONV = (
    sx.ConvAffine(2, (3, 4)),
    sx.ConvUpDown(1, (3, 4)),
    sx.ConvGrouped(2, (3, 4)),
)


@pytest.mark.parametrize("field", CONV, ids=lambda field: type(field).__name__)
def test_default_momenta_of_images_shrink_with_their_places(field):
    """θ* is a sum over all places."""
    assert field.default_momentum(5) == pytest.approx(0.1 / np.sqrt(12))


ONES = np.ones((2, 2))
BROKEN = np.array([[1.0, np.nan], [1.0, 1.0]])


@pytest.mark.parametrize(
    ("got", "wanted", "close"),
    [
        (ONES, ONES, True),
        (ONES + 1e-9, ONES, True),
        (ONES + 1e-7, ONES, False),
        (BROKEN, ONES, False),
        (ONES, BROKEN, False),
        (BROKEN, BROKEN, True),
        # Each line is judged by its own largest entry.
        (np.array([[1e6, 1e6], [1.0, 1.1]]), np.array([[1e6, 1e6], [1.0, 1.0]]), False),
    ],
)
def test_when_two_fields_agree(got, wanted, close):
    assert _close(got, wanted, np.isfinite(wanted), 1e-8) is close


def test_parts_within_a_span():
    parts = {"a": (0, 2), "b": (2, 3), "c": (3, 5)}
    assert _within(parts, (0, 3)) == ["a", "b"]
    assert _within(parts, (2, 5)) == ["b", "c"]
    assert _within(parts, (1, 4)) == ["b"]
