"""The settings of the paper, as data; and what the experiments do with them."""

import jax
import numpy as np
import pytest

import shootax as sx
from shootax.data import spiral
from shootax.paper import EXPERIMENTS, Configuration, make_settings, planned
from shootax.paper._models import optimizer
from shootax.paper._spiral import LONG, mean_norm, norms, pasted, snippet_times
from shootax.paper._tables import parameters_table


def groups(name, **options):
    experiment = EXPERIMENTS[name]
    return planned(experiment, make_settings(experiment, "paper", **options))


@pytest.mark.parametrize(("name", "inflations"), [("quadratic", 6), ("cubic", 6), ("spiral", 4)])
def test_full_figures(name, inflations):
    """Four formulations at each inflation factor, ten seeds each, and more numbers of particles."""
    made = groups(name)
    main = {"quadratic": 15, "cubic": 15, "spiral": 25}[name]
    runs = [(Configuration.from_columns(g.config), seed) for g in made for seed in g.seeds]
    assert len(set((c.name, seed) for c, seed in runs)) == len(runs)
    figure = [c for c, _ in runs if c.particles in (None, main)]
    assert len(figure) == 4 * inflations * 10
    others = {c.particles for c, _ in runs} - {None, main}
    assert others == ({15, 50} if name == "spiral" else {2, 5, 25})


def test_circles_have_two_weights_and_fifty_seeds():
    made = groups("circles")
    assert sum(len(g.seeds) for g in made) == 2 * 3 * 50
    assert {g.config["data_weight"] for g in made} == {100.0, 3.0}


def test_the_paper_s_regression():
    settings = make_settings(EXPERIMENTS["quadratic"], "paper")
    options = settings.options
    assert settings.epochs == 500
    assert [options[k] for k in ("training", "validation", "test")] == [500, 1000, 1000]
    assert (options["batch_size"], options["learning_rate"], options["momentum"]) == (50, 0.01, 0.1)
    assert (options["data_weight"], options["penalty_weight"]) == (100, 1)
    net = EXPERIMENTS["quadratic"].net(settings, Configuration("dynamic-particles", 16, 15), 0)
    assert sx.count(net) == 542
    assert net.integrator.steps == 10
    x = np.asarray(net.control.ensemble.q)[:, 0]
    assert np.abs(x).max() <= 1.5
    assert 0.05 < np.asarray(net.control.ensemble.p).std() < 0.15


def test_best_changes_only_how_it_is_trained():
    settings = [make_settings(EXPERIMENTS["quadratic"], "paper", r) for r in ("paper", "best")]
    same = ("data_weight", "penalty_weight", "training", "batch_size", "steps")
    assert settings[0].epochs == settings[1].epochs
    assert [settings[0].options[k] for k in same] == [settings[1].options[k] for k in same]


def test_what_recipes_freeze_and_minimise():
    """Positions rest at first where a recipe says so; the spiral is trained by norms or by squares."""
    experiment = EXPERIMENTS["spiral"]
    options = make_settings(experiment, "smoke").options
    for name, particles in (("dynamic-particles", 5), ("dynamic-direct", None)):
        configuration = Configuration(name, 16, particles)
        made = optimizer(configuration, {**options, "frozen_epochs": 7})
        assert made.freeze == ({"visible-positions": 7} if particles else None)
        assert optimizer(configuration, {**options, "frozen_epochs": 0}).freeze is None
    for kind, loss in (("norm", mean_norm), ("mse", "mse")):
        settings = make_settings(experiment, "smoke")
        settings.options["loss"] = kind
        assert experiment.task(settings, experiment.configurations(settings)[0])[1]["loss"] == loss


def test_the_table_of_parameters():
    lines = [
        [c.strip() for c in line.split("|")[1:-1]]
        for line in parameters_table("cubic").splitlines()
    ]
    assert {len(line) for line in lines} == {len(lines[0])}
    column = lines[0].index("α = 16")
    (entry,) = [line[column] for line in lines if line[:2] == ["particles", "15"]]
    assert entry == "542"
    assert {line[1] for line in lines if line[0] == "static-direct"} == {"–"}


def test_options_replace_what_the_preset_says():
    made = groups("quadratic", seeds=3, formulations=["dynamic-particles"], inflations=[8],
                  particles=[7])  # fmt: skip
    assert [(g.name, g.seeds) for g in made] == [("dynamic-particles-a8-k7-s0-2", (0, 1, 2))]
    with pytest.raises(ValueError, match="Unknown model 'static'"):
        groups("quadratic", formulations=["static"])
    with pytest.raises(ValueError, match="Unknown recipe 'worst'"):
        make_settings(EXPERIMENTS["quadratic"], "paper", "worst")


class Truth:
    """Stands in for a net: it moves states by the spiral's own equation."""

    def __init__(self):
        from scipy.integrate import solve_ivp

        from shootax.data._spiral import velocity

        self._solve, self._velocity = solve_ivp, velocity

    def __call__(self, x, times):
        return np.stack(
            [
                self._solve(lambda t, s: self._velocity(s), (0, LONG), row, "DOP853", times,
                            rtol=1e-11, atol=1e-12).y.T
                for row in np.asarray(x)
            ]
        )  # fmt: skip


def test_pasted_truth_is_the_truth(monkeypatch):
    import shootax.paper._spiral as module

    monkeypatch.setattr(module, "trajectories", lambda net, x: net(x, snippet_times()))
    np.testing.assert_allclose(pasted(Truth()), spiral().x, atol=1e-8)


def test_trajectories_are_those_of_the_models(monkeypatch):
    import shootax.paper._spiral_figures as module

    monkeypatch.setattr(module, "pasted", lambda net: "long")
    monkeypatch.setattr(module, "trajectories_figure", lambda truth, short, long: (short, long))
    found = {}

    def net(x, times):
        found["x"], found["times"] = np.shape(x), np.asarray(times)
        return x

    short, long = module._trajectories({"static-direct": net})
    assert found["x"] == short["static-direct"].shape == (module.SNIPPETS, 2)
    np.testing.assert_array_equal(found["times"], snippet_times())
    assert long == {"static-direct": "long"}


def test_norms_and_their_slope():
    errors = np.array([[[3.0, 4.0], [0.0, 0.0]]])
    assert norms(errors) == (2.5, 6.25)
    y = np.zeros((2, 2))
    np.testing.assert_allclose(mean_norm(errors[0], y), 2.5)
    slope = jax.grad(mean_norm)(jax.numpy.asarray(errors[0]), y)
    np.testing.assert_allclose(slope, [[0.3, 0.4], [0.0, 0.0]])


@pytest.mark.slow
def test_a_seed_alone_and_among_others(standard_promotion):
    """To the tolerance of the precision; the tests are in double."""
    import dataclasses

    experiment = EXPERIMENTS["quadratic"]
    settings = dataclasses.replace(make_settings(experiment, "smoke"), epochs=5)
    configuration = Configuration("dynamic-particles", 4, 5)
    (alone,) = experiment.train(settings, configuration, [3])
    among = experiment.train(settings, configuration, [1, 3, 2])[1]
    np.testing.assert_allclose(alone.history["objective"], among.history["objective"], rtol=1e-9)
