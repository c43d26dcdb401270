"""The bounds that need no training."""

import numpy as np

from benchmarks import balls_bounds
from shootax.data import ball_paths


def test_the_true_simulation_from_true_positions_has_no_error():
    assert np.all(balls_bounds.chaos(4, 0.0) == 0)
    assert np.all(balls_bounds.chaos(4, 0.1) > 0)


def test_balls_that_meet_nothing_go_straight():
    errors = balls_bounds.straight_lines(30)
    assert errors[0] < errors[-1] / 10
    paths = ball_paths(30, seed=balls_bounds.TEST)
    assert np.all(balls_bounds.rendered_errors(paths.x[:, balls_bounds.TESTED], paths) == 0)


def test_states_are_those_of_the_third_frame_and_of_the_ten_after_it():
    paths = ball_paths(3, seed=1)
    start, later = balls_bounds.states(paths)
    np.testing.assert_allclose(5 + 5 * start[:, :6].reshape(3, 3, 2), paths.x[:, 2])
    np.testing.assert_allclose(later[:, -1, 6:].reshape(3, 3, 2) / 4, paths.v[:, 12])
