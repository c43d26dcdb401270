"""The experiment with MNIST: its networks, its data, its table and figures, on made-up images."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax.data import LabelledImages
from shootax.paper import EXPERIMENTS, Configuration, Results, draw_figures, make_settings, planned
from shootax.paper._mnist import Shifted, accuracy, scaled, smoothed

EXPERIMENT = EXPERIMENTS["mnist"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A blob in the half of the image that the label says."""
    rng = np.random.default_rng(0)
    arrays = {}
    for kind, n in (("train", 400), ("test", 128)):
        labels = rng.integers(0, 2, n).astype(np.uint8)
        images = rng.integers(0, 40, (n, 28, 28)).astype(np.uint8)
        for image, label in zip(images, labels, strict=True):
            image[8:20, 2 + 12 * label : 14 + 12 * label] += 200
        arrays |= {f"{kind}_images": images, f"{kind}_labels": labels}
    np.savez(tmp_path / "mnist.npz", **arrays)
    monkeypatch.setenv("SHOOTAX_DATA", str(tmp_path))
    return tmp_path


def settings(preset="smoke", **options):
    made = make_settings(EXPERIMENT, preset, "other-data")
    return dataclasses.replace(made, options={**made.options, **options})


def test_networks_of_the_full_experiment():
    made = planned(EXPERIMENT, make_settings(EXPERIMENT, "paper"))
    assert len({group.name for group in made}) == len(made)
    assert all(len(group.seeds) == 1 for group in made)
    free = [g for g in made if g.config["formulation"] == "dynamic-direct" and g.seeds == (0,)]
    assert [g.config["particles"] for g in free] == [None] * len(free)
    passed = [g.config for g in made if g.config["passed"]]
    assert passed
    assert all(config["formulation"].endswith("-particles") for config in passed)


@pytest.mark.slow
def test_headline_networks_keep_to_their_sizes():
    made = make_settings(EXPERIMENT, "paper")
    counts = []
    for size in made.options["sizes"]:
        more = {"channels": size["channels"], "blocks": 1, "passed": False}
        configuration = Configuration("dynamic-particles", 2, size["particles"], more)
        counts.append(sx.count(EXPERIMENT.net(made, configuration, 0)))
    assert max(counts) <= 50_000
    assert any(10_000 < number <= 15_000 for number in counts)


def test_images_are_shifted_and_nothing_else():
    image = np.zeros((1, 6, 6), np.uint8)
    image[0, 2, 3] = 255
    sampler = Shifted(jnp.asarray(np.repeat(image, 200, 0)), jnp.arange(200.0), 2)
    x, y = sampler(jax.random.key(0))
    np.testing.assert_array_equal(y, np.arange(200))
    places = {tuple(np.argwhere(each[0])[0]) for each in np.asarray(x)}
    assert places == {(2 + i, 3 + j) for i in range(-2, 3) for j in range(-2, 3) if 3 + j <= 5}
    np.testing.assert_array_equal(np.unique(x), [0, 1])


def test_particles_and_free_weights_have_their_own_rates(monkeypatch):
    images = LabelledImages(np.zeros((2, 28, 28), np.uint8), np.zeros(2, np.uint8))
    monkeypatch.setattr(type(EXPERIMENT), "data", lambda self, settings: (images,) * 3)
    made = settings()
    for configuration in EXPERIMENT.configurations(made):
        _, options = EXPERIMENT.task(made, configuration)
        rates = {
            "momenta": made.options["momenta_scale"],
            "positions": made.options["positions_scale"],
        }
        wanted = None if configuration.particles is None else rates
        assert options["optimizer"].lr_scale == wanted


def test_smoothing():
    logits, label = jnp.array([1.0, -2.0, 0.5]), jnp.array(2.0)
    logs = np.asarray(jax.nn.log_softmax(logits))
    np.testing.assert_allclose(smoothed(0.0)(logits, label), -logs[2])
    np.testing.assert_allclose(smoothed(0.3)(logits, label), -0.7 * logs[2] - 0.3 * logs.mean())


def test_accuracy_counts_all_batches():
    images = np.random.default_rng(0).integers(0, 256, (25, 4, 4), np.uint8)
    means = images.reshape(25, -1).mean(axis=1) / 255

    class Bright(eqx.Module):
        def __call__(self, x):
            mean = jnp.mean(x, axis=(1, 2, 3))
            return jnp.stack([jnp.full_like(mean, 0.5), mean], axis=1)

    labels = (means > 0.5).astype(np.uint8)
    labels[:5] = 1 - labels[:5]
    assert accuracy(Bright(), LabelledImages(images, labels), batch=10) == 20 / 25


def test_the_split_is_the_same_for_all_and_disjoint(folder):
    first, held_out, test = EXPERIMENT.data(settings())
    assert [len(part.labels) for part in (first, held_out, test)] == [256, 64, 128]
    together = {image.tobytes() for image in first.images}
    assert not together & {image.tobytes() for image in held_out.images}


def test_other_data_need_their_recipe(folder, tmp_path, shootax):
    code, *text = shootax("reproduce", "mnist", "--preset", "smoke", "--data", tmp_path, "--out",
                     tmp_path / "out")  # fmt: skip
    assert "not those of MNIST" in f"{code} {text}"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_halves_are_told_apart_and_drawn(folder, tmp_path, shootax):
    out = tmp_path / "out"
    code, *text = shootax("reproduce", "mnist", "--preset", "smoke", "--recipe", "other-data", "--models",
                     "dynamic-particles", "--out", out, "--jobs", 1)  # fmt: skip
    assert code == 0, text
    results = Results.read(out)
    assert len(results.where()) == 3
    run_ = results.where(blocks=1)[0]
    net = sx.load(out / run_["model"])
    assert sx.count(net) == run_["parameters"]
    _, _, test = EXPERIMENT.data(results.settings)
    assert accuracy(net, test) == run_["test_accuracy"]
    assert run_["test_accuracy"] > 0.8
    paths, notes = draw_figures(out)
    assert {path.name for path in paths} == {
        "accuracy.png", "accuracy.svg", "training.png", "training.svg", "results.md"}  # fmt: skip
    assert notes == []
    assert f"{run_['parameters']:,}" in (out / "figures" / "results.md").read_text()
    assert json.loads((out / "sweep.json").read_text())


def test_scaled_images_have_a_channel():
    assert scaled(np.full((3, 5, 5), 255, np.uint8)).shape == (3, 1, 5, 5)
    assert scaled(np.full((3, 5, 5), 255, np.uint8)).max() == 1
