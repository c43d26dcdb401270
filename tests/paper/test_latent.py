"""The experiments with images: tiny ones from start to end, and one that is interrupted."""

import dataclasses
import json

import jax
import numpy as np
import pytest

import shootax as sx
from shootax._train import Checkpoint
from shootax.paper import CURVES, EXPERIMENTS, PUBLISHED, Results, make_settings
from shootax.paper._published import comparison

pytestmark = pytest.mark.usefixtures("standard_promotion")


def test_published_curves_have_their_published_means():
    for name, curve in CURVES.items():
        assert len(curve) == 10
        assert np.mean(curve) == pytest.approx(PUBLISHED["bouncing-balls"][name], abs=1e-4)


def test_comparison_means_over_seeds_that_ended_well():
    runs = [
        {"formulation": "static-direct", "status": "ok", "test_mse": 0.01},
        {"formulation": "static-direct", "status": "ok", "test_mse": 0.03},
        {"formulation": "static-direct", "status": "diverged", "test_mse": None},
        {"formulation": "dynamic-direct", "status": "ok", "test_mse": 0.5},
    ]
    assert comparison("rotating-mnist", runs)[-2:] == [
        ("static-direct", "0.0200 ± 0.0141", "here, 2 seeds"),
        ("dynamic-direct", "0.5000", "here, 1 seed"),
    ]


@pytest.mark.slow
def test_paper_sizes():
    """The parameters of the shooting part are the count of the paper's formula."""
    for name, d, a in (("rotating-mnist", 20, 10), ("bouncing-balls", 50, 20)):
        experiment = EXPERIMENTS[name]
        settings = make_settings(experiment, "paper", formulations=["dynamic-particles"])
        (configuration,) = experiment.configurations(settings)
        model = experiment.net(settings, configuration, 0)  # pyright: ignore
        assert sx.count(model.net) == 2 * 100 * (a + 1) * d + a * d * (d + 1)


@pytest.mark.slow
def test_versions_of_digits_take_the_place_of_epochs():
    experiment = EXPERIMENTS["rotating-mnist"]
    settings = make_settings(experiment, "smoke", "best", formulations=["static-direct"])
    settings = dataclasses.replace(settings, epochs=40)
    (configuration,) = experiment.configurations(settings)
    (sampler,), told = experiment.task(settings, configuration)  # pyright: ignore
    assert told["epochs"] == 2
    assert sampler.frames.shape == (20 * 50, 16, 28, 28)
    short = dataclasses.replace(settings, epochs=2)
    (sampler,), told = experiment.task(short, configuration)  # pyright: ignore
    assert (told["epochs"], len(sampler.frames)) == (1, 100)


MORE = {"ema": 0.9, "theta3": 0.1, "last": 3, "decoder_activation": "gelu", "weight_decay": 0.5}
MORE |= {"steps": 5}


def test_options_that_a_recipe_may_have():
    experiment = EXPERIMENTS["rotating-mnist"]
    settings = make_settings(experiment, "smoke", formulations=["static-direct"])
    (configuration,) = experiment.configurations(settings)
    changed = dataclasses.replace(settings, options={**settings.options, **MORE})
    before, after = (experiment.net(s, configuration, 0) for s in (settings, changed))  # pyright: ignore
    assert after.decoder.last.weight.shape == (3, 3, 3, 1)
    assert before.decoder.last is None
    assert after.decoder.activation is not before.decoder.activation
    assert after.net.control.penalty.strength("theta3") == 0.1
    assert before.net.control.penalty.strength("theta3") == 10
    assert (before.net.integrator.steps, after.net.integrator.steps) == (15, 5)
    optimizer = experiment.task(changed, configuration)[1]["optimizer"]
    assert optimizer.ema == 0.9
    assert optimizer.weight_decay["decoder.last.weight"] == 0.5


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "recipe", "more"),
    [
        ("rotating-mnist", "paper", MORE),
        ("rotating-mnist", "swift", {}),
        ("bouncing-balls", "full", {"batch_size": 25, "channels": [2, 4, 8]}),
    ],
)
def test_recipes_of_images_train(name, recipe, more):
    experiment = EXPERIMENTS[name]
    settings = make_settings(experiment, "smoke", recipe, formulations=["dynamic-particles"])
    settings = dataclasses.replace(settings, epochs=1, options={**settings.options, **more})
    (configuration,) = experiment.configurations(settings)
    (fitted,) = experiment.train(settings, configuration, [0])
    assert isinstance(fitted, sx.FitResult)
    assert np.isfinite(fitted.history["objective"]).all()


def test_balls_may_decode_half_of_the_frames():
    experiment = EXPERIMENTS["bouncing-balls"]
    settings = make_settings(experiment, "smoke", "best", formulations=["static-direct"])
    (configuration,) = experiment.configurations(settings)
    (sampler,), _ = experiment.task(settings, configuration)  # pyright: ignore
    asked, frames = sampler(jax.random.key(0))
    assert asked.first.shape == (50, 3, 28, 28)
    assert frames.shape == (50, 10, 28, 28)


class _StopError(Exception):
    pass


@pytest.mark.slow
def test_interrupted_training_ends_as_if_it_had_not_been(tmp_path):
    experiment = EXPERIMENTS["rotating-mnist"]
    settings = make_settings(experiment, "smoke", formulations=["dynamic-particles"])
    settings = dataclasses.replace(settings, epochs=4)
    (configuration,) = experiment.configurations(settings)
    (whole,) = experiment.train(settings, configuration, [0])

    def stop(done, text):
        if done >= 2:
            raise _StopError

    path = tmp_path / "state.safetensors"
    with pytest.raises(_StopError):
        experiment.train(
            settings, configuration, [0], checkpoint=Checkpoint(path, 0.0), progress=stop
        )
    (resumed,) = experiment.train(settings, configuration, [0], checkpoint=Checkpoint(path, 0.0))
    assert len(resumed.history["data"]) == 4
    first, second = (
        experiment.evaluate(settings, configuration, fit.net) for fit in (whole, resumed)
    )
    assert first == second


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rotating-mnist", "bouncing-balls"])
def test_smoke(name, tmp_path):
    from shootax.cli.reproduce import run

    local: dict = {"engine": "local", "address": None, "gpus": None, "retries": None}
    whole: dict = {"seeds": None, "models": None, "inflation": None, "particles": None}
    run(name, "smoke", "paper", tmp_path, 2, **local, **whole)
    results = Results.read(tmp_path)
    settings, runs = results.settings, results.runs
    assert [each["status"] for each in runs] == ["ok"] * len(settings.formulations)
    for each in runs:
        steps = each["mse_per_step"]
        assert len(steps) == {"rotating-mnist": 16, "bouncing-balls": 10}[name]
        expected = steps[3] if name == "rotating-mnist" else np.mean(steps)
        assert each["test_mse"] == pytest.approx(expected)
        assert 0 < each["test_mse"] < 0.5
        record = sx.load_record(tmp_path / each["model"])
        assert len(record["history"]["objective"]) == settings.epochs
    figures = {path.name for path in (tmp_path / "figures").iterdir()}
    own = "latent.png" if name == "rotating-mnist" else "steps.png"
    assert {"sequences.png", "training.svg", "sequences.gif", "table.md", own} <= figures
    assert json.loads((tmp_path / "results.json").read_text()) == runs
