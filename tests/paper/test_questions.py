"""The open questions: what is compared, and the statistics."""

import numpy as np

from shootax.paper import COLLECTIONS, EXPERIMENTS, make_settings, planned
from shootax.paper._questions.statistics import at_equal_loss, interval
from shootax.paper._questions.tasks import noisy_task, real_task, spiral_map


def test_intervals_are_those_of_student():
    found = interval([1.0, 2.0, 3.0, 4.0])
    half = 3.182446 * np.std([1, 2, 3, 4], ddof=1) / 2
    np.testing.assert_allclose(found[:3], [2.5, 2.5 - half, 2.5 + half], rtol=1e-5)
    assert found.excludes_zero
    assert not interval([1.0]).excludes_zero
    assert interval([None, np.inf]).seeds == 0


def test_formulations_are_compared_where_their_training_losses_are_equal():
    """A power law in the training loss is recovered exactly by interpolation in logarithms."""

    def path(losses, power):
        return [{"train_loss": loss, "test_loss": loss**power} for loss in losses]

    paths = {"a": path([1.0, 0.1, 0.01], 0.5), "b": path([0.05, 2.0], 2.0)}
    level, found = at_equal_loss(paths, ["test_loss"])
    assert level == 0.05  # the smallest that both reach
    np.testing.assert_allclose(found["a"]["test_loss"], 0.05**0.5)
    np.testing.assert_allclose(found["b"]["test_loss"], 0.05**2)
    assert at_equal_loss({"a": path([1.0], 1), "b": path([0.1], 1)}, ["test_loss"]) is None
    assert at_equal_loss({"a": path([1.0], 1), "b": []}, ["test_loss"]) is None


def test_noise_is_on_the_training_targets_alone_and_seeds_differ():
    clean, noisy = (noisy_task("circles", 200, noise, 3) for noise in (False, True))
    np.testing.assert_array_equal(clean.x, noisy.x)
    assert 0.05 < np.mean(clean.y != noisy.y) < 0.25
    np.testing.assert_array_equal(clean.test_y, noisy.test_y)
    assert not np.array_equal(clean.x, noisy_task("circles", 200, False, 4).x)
    np.testing.assert_array_equal(clean.y, np.linalg.norm(clean.x, axis=1) > 0.75)


def test_the_spiral_follows_its_equation():
    from scipy.integrate import solve_ivp

    x, y = spiral_map(3, 0)
    A = np.array([[-0.1, 2.0], [-2.0, -0.1]])
    for start, end in zip(x, y, strict=True):
        solved = solve_ivp(lambda t, z: z**3 @ A, (0, 0.5), start, rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(solved.y[:, -1], end, atol=1e-6)


def test_real_tasks_are_whitened_by_the_training_part():
    split = real_task("digits", 360, 8)
    assert split.x.shape == (360, 8)
    np.testing.assert_allclose(split.x.std(axis=0), 1, rtol=1e-6)
    assert set(split.y) == {0, 1}
    assert len(split.test_x) == 1797 - 360


def test_every_part_has_ten_seeds_in_full():
    for name in COLLECTIONS["questions"]:
        groups = planned(EXPERIMENTS[name], make_settings(EXPERIMENTS[name], "paper"))
        assert all(group.seeds == tuple(range(10)) for group in groups)
