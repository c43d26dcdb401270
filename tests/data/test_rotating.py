"""Rotating MNIST is what the literature uses: its known levels come out."""

import numpy as np
import pytest

from shootax.data import rotating_mnist, threes


@pytest.fixture(scope="module")
def frame_3():
    train, test = rotating_mnist()
    flat = [part.frames[:, 3].reshape(len(part), -1).astype(float) for part in (train, test)]
    return *flat, flat[0].mean(axis=0)


def test_sizes_and_range():
    train, test = rotating_mnist()
    assert (len(train), len(test)) == (500, 542)
    assert train.frames.shape[1:] == (16, 28, 28)
    for part in (train, test):
        assert part.frames.min() == 0
        assert part.frames.max() == 1
    np.testing.assert_allclose(train.times, 0.1 * np.arange(16))


def test_a_full_turn_ends_where_it_began():
    for part in rotating_mnist():
        np.testing.assert_allclose(part.frames[:, 15], part.frames[:, 0], atol=1e-5)


def test_first_frames_are_the_digits():
    images = threes().astype(float)
    assert images.shape == (1042, 28, 28)
    np.testing.assert_allclose(rotating_mnist()[0].frames[:, 0], images[:500] / 255, atol=1e-6)


def test_frames_turn_one_way_by_24_degrees():
    """The centre of mass goes around the middle at a steady rate, up to a little cut at the edge."""
    frames = rotating_mnist()[0].frames.astype(float)
    grid = np.arange(28) - 13.5
    mass = frames.sum(axis=(2, 3))
    x, y = (np.einsum(f"nthw,{axis}->nt", frames, grid) / mass for axis in ("w", "h"))
    far = np.hypot(x, y).min(axis=1) > 1  # where the direction is well defined
    turns = np.diff(np.unwrap(np.arctan2(-y, x), axis=1), axis=1)[far]
    assert far.sum() > 20
    np.testing.assert_allclose(np.degrees(np.median(turns, axis=0)), 24, atol=2)


def test_level_of_the_mean_image(frame_3):
    _, test, mean = frame_3
    assert np.mean((test - mean) ** 2) == pytest.approx(0.0366, rel=0.02)


def test_level_of_twenty_principal_components(frame_3):
    train, test, mean = frame_3
    _, _, directions = np.linalg.svd(train - mean, full_matrices=False)
    directions = directions[:20]
    rest = (test - mean) - (test - mean) @ directions.T @ directions
    assert np.mean(rest**2) == pytest.approx(0.01205, rel=0.02)


def test_level_of_the_nearest_neighbour(frame_3):
    train, test, _ = frame_3
    starts = [part.frames[:, 0].reshape(len(part), -1).astype(float) for part in rotating_mnist()]
    distance = np.sum(starts[0] ** 2, axis=1) - 2 * starts[1] @ starts[0].T
    assert np.mean((test - train[distance.argmin(axis=1)]) ** 2) == pytest.approx(0.0264, rel=0.02)


def test_the_file_is_small_and_has_its_notice():
    import importlib.resources

    folder = importlib.resources.files("shootax.data")
    assert len((folder / "mnist_threes.npz").read_bytes()) < 200_000
    notice = (folder / "mnist_threes.NOTICE.md").read_text()
    assert "LeCun" in notice
    assert "Attribution-ShareAlike 3.0" in notice
