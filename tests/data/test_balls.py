"""Bouncing balls: their mechanics, how they are drawn, and the known level of the data."""

import time

import numpy as np
import pytest

from shootax.data import ball_paths, bouncing_balls
from shootax.data._balls import BOX, RADIUS, SPEED, collided, drawn, off_walls, resized


def test_energy_is_kept_and_balls_stay_in_the_box():
    paths = ball_paths(200, frames=50, seed=1)
    energy = np.sum(paths.v**2, axis=(2, 3))
    np.testing.assert_allclose(energy, SPEED**2, rtol=1e-10)
    assert paths.x.min() > RADIUS - SPEED
    assert paths.x.max() < BOX - RADIUS + SPEED


def test_balls_start_apart_from_walls_and_each_other():
    x = ball_paths(300, frames=1, seed=2).x[:, 0]
    assert x.min() >= RADIUS
    assert x.max() <= BOX - RADIUS
    for i, j in ((0, 1), (0, 2), (1, 2)):
        assert np.linalg.norm(x[:, i] - x[:, j], axis=1).min() >= 2 * RADIUS


def test_a_collision_keeps_momentum_and_energy_and_parts_the_balls():
    random = np.random.default_rng(0)
    x = np.stack([[5, 5], [6.5, 6.0], [8, 2]])[None].repeat(50, axis=0)  # the first two overlap
    v = random.normal(size=(50, 3, 2))
    after = collided(x, v)
    np.testing.assert_allclose(after.sum(axis=1), v.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose((after**2).sum(axis=(1, 2)), (v**2).sum(axis=(1, 2)))
    line = (x[:, 0] - x[:, 1]) / np.linalg.norm(x[:, 0] - x[:, 1], axis=1, keepdims=True)
    before, later = (np.sum((w[:, 0] - w[:, 1]) * line, axis=1) for w in (v, after))
    np.testing.assert_allclose(later, -before)
    np.testing.assert_array_equal(after[:, 2], v[:, 2])


def test_a_wall_turns_velocities_inward():
    x = np.array([[[0.5, 5.0], [9.9, 0.1], [5.0, 5.0]]])
    v = np.array([[[-1.0, -1.0], [1.0, -2.0], [-1.0, 1.0]]])
    expected = np.array([[[1.0, -1.0], [-1.0, 2.0], [-1.0, 1.0]]])
    np.testing.assert_array_equal(off_walls(x, v), expected)
    np.testing.assert_array_equal(off_walls(x, -expected)[0, :2], [[1.0, 1.0], [-1.0, 2.0]])


def test_simulation_follows_one_sequence_step_by_step():
    """The first frames before anything is hit are straight lines of unit time."""
    paths = ball_paths(300, frames=2, seed=3)
    free = (paths.v[:, 0] == paths.v[:, 1]).all(axis=(1, 2))
    assert free.sum() > 100
    np.testing.assert_allclose(paths.x[free, 1], (paths.x + paths.v)[free, 0])


def test_drawing_is_the_formula():
    x = ball_paths(7, frames=3, seed=4).x
    x[0, 0] = [[0.3, 9.9], [5.0, 5.0], [5.5, 5.0]]  # over the edge, and overlapping
    centres = (np.arange(32) + 0.5) * BOX / 32
    near = (centres[:, None] - x[..., 0, None, None]) ** 2 + (centres - x[..., 1, None, None]) ** 2
    exact = np.minimum(1, np.exp(-((near / RADIUS**2) ** 4)).sum(axis=2))
    assert np.abs(drawn(x) - np.floor(255 * exact)).max() <= 1
    assert np.mean(drawn(x) == np.floor(255 * exact)) > 0.99


def test_resizing_is_pillows():
    image = pytest.importorskip("PIL.Image")
    images = drawn(ball_paths(10, frames=5, seed=5).x).reshape(-1, 32, 32)
    noise = np.random.default_rng(0).integers(0, 256, (20, 32, 32)).astype(np.uint8)
    for each in (*images, *noise):
        small = image.fromarray(each).resize((28, 28), image.Resampling.BILINEAR)
        np.testing.assert_array_equal(np.rint(255 * resized(each[None])[0]), np.asarray(small))


def test_level_of_copying_the_last_frame_seen():
    frames = bouncing_balls(1000, frames=13, seed=0).frames
    error = np.mean((frames[:, 3:13] - frames[:, 2:3]) ** 2)
    assert error == pytest.approx(0.0917, rel=0.02)


def test_the_seed_decides():
    first = bouncing_balls(4, seed=7).frames
    np.testing.assert_array_equal(first, bouncing_balls(4, seed=7).frames)
    assert np.any(first != bouncing_balls(4, seed=8).frames)


@pytest.mark.slow
def test_ten_thousand_sequences_in_under_a_minute():
    began = time.process_time()
    assert bouncing_balls(10_000).frames.shape == (10_000, 20, 28, 28)
    assert time.process_time() - began < 60
