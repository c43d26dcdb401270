"""The open questions: what is compared, and the statistics."""

import types

import jax
import numpy as np
import pytest
from scipy.special import log_softmax

import shootax as sx
from shootax.paper import COLLECTIONS, EXPERIMENTS, make_settings, planned
from shootax.paper._questions import data, networks
from shootax.paper._questions.comparison import network_table
from shootax.paper._questions.formulations import _own_cross_entropy
from shootax.paper._questions.statistics import at_equal_loss, interval
from shootax.paper._questions.tasks import losses, noisy_task, real_task, spiral_map


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
    level, found = at_equal_loss({"a": path([1.0, 0.01], 1), "b": path([0.05], 2)}, ["test_loss"])
    assert level == 0.05  # which the only run of one of them has
    np.testing.assert_allclose([found[name]["test_loss"] for name in "ab"], [0.05, 0.05**2])
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


def test_losses_of_outputs():
    """Cross-entropy and the share of mistakes; squared errors, also relative to the variance."""
    rng = np.random.default_rng(0)
    scores, labels = rng.normal(size=(5, 3)), np.array([0, 2, 1, 1, 0])
    logs = log_softmax(scores, axis=1)[np.arange(5), labels]
    wrong = np.mean(
        [max(range(3), key=row.__getitem__) != y for row, y in zip(scores, labels, strict=True)]
    )
    np.testing.assert_allclose(losses(scores, labels, 3), [-logs.mean(), wrong])
    for row, label, log in zip(scores, labels, logs, strict=True):
        pair = (jax.numpy.asarray(row), jax.numpy.asarray(float(label)))
        np.testing.assert_allclose(_own_cross_entropy(pair, np.zeros(1)), -log)
    y = rng.normal(size=(5, 2)) + 3
    np.testing.assert_allclose(losses(y + 0.5, y, 0), [0.25, 0.25 / y.var(axis=0).mean()])


def test_particles_against_data_as_planned():
    """Direct weights once; particles at samples and trained ones for every K; one for each sample."""
    experiment = EXPERIMENTS["questions-data"]
    settings = make_settings(experiment, "smoke")
    planned_ = experiment.configurations(settings)
    assert [(c.formulation, c.particles, c.more["positions"]) for c in planned_] == [
        ("dynamic-direct", None, "none"),
        *(("dynamic-particles", k, where) for where in ("data", "trained") for k in (2, 8)),
        ("dynamic-particles", 8, "costates"),
    ]
    for configuration in planned_:
        optimizer = experiment.task(settings, configuration)[1]["optimizer"]
        held = {"lift"} | (
            {"positions"} if configuration.more["positions"] in ("data", "costates") else set()
        )
        assert set(optimizer.freeze) == held
        k = configuration.particles
        assert optimizer.lr_scale == (
            None if k is None else {"momenta": pytest.approx(1 / np.sqrt(k))}
        )
    (x, _), _ = experiment.task(settings, planned_[-1])
    net = experiment.net(settings, planned_[-1], 0)
    q, p = (np.asarray(leaf) for leaf in (net.control.ensemble.q, net.control.ensemble.p))
    np.testing.assert_allclose(q, jax.vmap(net.lift)(jax.numpy.asarray(x)))
    assert 0.7 < p.std() * 8 < 1.4
    assert np.abs(p.mean()) < p.std()


def test_costates_of_free_weights_are_the_momenta(monkeypatch):
    """Also where the free weights diverged, with the last good ones."""
    experiment = EXPERIMENTS["questions-data"]
    settings = make_settings(experiment, "smoke")
    configuration = experiment.configurations(settings)[-1]
    trained = []

    def train(settings, free, seeds):
        trained.append((free.formulation, free.particles, free.more["positions"], list(seeds)))
        good = types.SimpleNamespace(net=1.0)
        return [good, sx.DivergedError("too far", types.SimpleNamespace(net=2.0))]

    monkeypatch.setattr(experiment, "train", train)
    costates = lambda net, x, y, strength: net * np.ones((8, 3))  # noqa: E731
    monkeypatch.setattr(data, "_costates", costates)
    nets = experiment.start(settings, configuration, [4, 5])
    assert trained == [("dynamic-direct", None, "none", [4, 5])]
    assert [float(net.control.ensemble.p.mean()) for net in nets] == [1, 2]


def test_networks_and_what_takes_their_place(monkeypatch):
    """The table has the medians over seeds of each entry for each number of particles."""
    monkeypatch.setattr(networks, "_measured", lambda net, split: (net + 1, net + 2))
    monkeypatch.setattr(networks, "penalty", lambda net: net + 3)
    curve = [types.SimpleNamespace(error=0.25), types.SimpleNamespace(error=0.5)]
    found = dict(networks._described("weights", types.SimpleNamespace(net=10, curve=curve), None))
    assert found == {
        "weights_error": 0.25,
        "weights_test_loss": 11,
        "weights_test_error": 12,
        "weights_penalty": 13,
    }
    kinds, measures = ("weights", "outputs", "tuned"), ("error", "test_error", "penalty")
    names = ["bound", *(f"{kind}_{entry}" for kind in kinds for entry in measures)]
    key = {"task": "t", "depth": 4, "penalty_weight": 0.5}
    runs = [
        {**key, "test_error": 7 + seed, "penalty": 9 + seed}
        | {name: [100 * i + 10 * k + seed for k in range(2)] for i, name in enumerate(names)}
        for seed in range(3)
    ]
    settings = types.SimpleNamespace(particles=(2, 5))
    table = network_table(types.SimpleNamespace(settings=settings, where=lambda **given: runs))
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
    assert {len(line) for line in lines} == {15}
    for k, line in enumerate(lines[2:]):
        middle = {name: 100 * i + 10 * k + 1 for i, name in enumerate(names)}
        wanted = ["bound", "weights_error", "outputs_error"]
        tests = [middle[f"{kind}_test_error"] for kind in kinds]
        costs = [middle[f"{kind}_penalty"] for kind in kinds]
        wanted = [*(middle[name] for name in wanted), 8, *tests, 10, *costs]
        assert line == ["t", "4", "0.5", str((2, 5)[k]), *(f"{value:.3g}" for value in wanted)]


def test_seeds_of_a_quick_look():
    quick = {name: make_settings(EXPERIMENTS[name], "quick") for name in COLLECTIONS["questions"]}
    found = {name.removeprefix("questions-"): len(each.seeds) for name, each in quick.items()}
    assert found == {"data": 5, "formulations": 5, "networks": 3}


def test_every_part_has_ten_seeds_in_full():
    for name in COLLECTIONS["questions"]:
        groups = planned(EXPERIMENTS[name], make_settings(EXPERIMENTS[name], "paper"))
        assert all(group.seeds == tuple(range(10)) for group in groups)
