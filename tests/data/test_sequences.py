"""Sequences of a user's own: checked on the way in."""

import numpy as np
import pytest

from shootax.data import Sequences

FRAMES = np.arange(24.0).reshape(2, 3, 4)


def test_defaults_and_split():
    sequences = Sequences(FRAMES)
    np.testing.assert_allclose(sequences.times, [0, 0.1, 0.2])
    assert sequences.mask.all()
    one, other = sequences.split(1)
    np.testing.assert_array_equal(one.frames[0], FRAMES[0])
    np.testing.assert_array_equal(other.frames[0], FRAMES[1])
    np.testing.assert_array_equal(sequences.first(2), FRAMES[:, :2])


def test_what_is_hidden_may_be_missing():
    frames = FRAMES.copy()
    frames[0, 1] = np.nan
    mask = np.array([[1, 0, 1], [1, 1, 1]])
    assert np.isfinite(Sequences(frames, mask=mask).frames).all()
    with pytest.raises(ValueError, match="given"):
        Sequences(frames)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((FRAMES[0],), r"\(n, time, ...\)"),
        ((FRAMES, [0, 1]), "times must be 3"),
        ((FRAMES, [0.1, 0.2, 0.3]), "increasing from 0"),
        ((FRAMES, [0, 0.2, 0.2]), "increasing from 0"),
        ((FRAMES, None, np.ones((2, 2))), "mask must have shape"),
        ((FRAMES, None, [[1, 1, 1], [0, 0, 0]]), "a given frame in every sequence"),
        ((FRAMES.astype(str),), "must be numbers"),
    ],
)
def test_mistakes_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Sequences(*arguments)


def test_hidden_frames_cannot_be_the_first():
    with pytest.raises(ValueError, match="first 2 frames"):
        Sequences(FRAMES, mask=[[1, 0, 1], [1, 1, 1]]).first(2)
