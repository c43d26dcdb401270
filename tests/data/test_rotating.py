"""Rotating MNIST is what the literature uses: its known levels come out."""

import numpy as np
import pytest

from shootax.data import rotating_mnist, threes
from shootax.data._rotating import deformed, turned


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
    scaled = images[:500] / images[:500].max(axis=(1, 2), keepdims=True)
    np.testing.assert_allclose(rotating_mnist()[0].frames[:, 0], scaled, atol=1e-6)


def test_frames_turn_by_24_degrees():
    """The long axis of a digit turns at a steady rate, by second moments about the middle."""
    frames = rotating_mnist()[0].frames.astype(float)[:200]
    grid = np.arange(28) - 13.5
    xx, yy = (np.einsum(f"nthw,{axis}->nt", frames, grid**2) for axis in ("w", "h"))
    xy = np.einsum("nthw,h,w->nt", frames, grid, grid)
    axis = np.unwrap(np.arctan2(-2 * xy, xx - yy), axis=1) / 2
    turns = np.degrees(np.diff(axis, axis=1))
    np.testing.assert_allclose(np.abs(np.median(turns, axis=0)), 24, atol=2)
    assert len({*np.sign(np.median(turns, axis=0))}) == 1


def test_images_turn_against_the_clock():
    image = np.zeros((1, 5, 5))
    image[0, 2, 4], image[0, 0, 2] = 1.0, 0.5
    np.testing.assert_allclose(turned(image, 90)[0], np.rot90(image[0]), atol=1e-12)


def test_level_of_the_mean_image(frame_3):
    _, test, mean = frame_3
    assert np.mean((test - mean) ** 2) == pytest.approx(0.0366, rel=0.02)


@pytest.mark.slow
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


def test_deformed_digits_stay_close_and_are_those_of_their_seed():
    digits = threes()[:20]
    first, again, other = (deformed(digits, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert first.min() >= 0
    assert first.max() <= 255
    change = np.abs(first - digits).mean(axis=(1, 2))
    assert np.all(change > 1)
    assert np.all(np.abs(first - other).mean(axis=(1, 2)) > 1)
    # Nearer to their own digit than to others.
    apart = np.abs(first[:, None] - digits[None]).mean(axis=(2, 3))
    assert np.mean(apart.argmin(axis=1) == np.arange(20)) > 0.9
    still = deformed(digits, 0, degrees=0, stretch=0, shear=0, shift=0)
    np.testing.assert_allclose(still, digits, atol=1e-6)


def test_a_digit_that_is_only_turned_is_one_of_the_turned_digits():
    digit = threes()[:1]
    (found,) = deformed(digit, 3, degrees=10, stretch=0, shear=0, shift=0)
    grid = np.linspace(-10, 10, 81)
    gaps = [np.abs(turned(digit.astype(float), a)[0].clip(0, 255) - found).mean() for a in grid]
    assert min(gaps) < 0.5 < np.abs(found - digit[0]).mean()
