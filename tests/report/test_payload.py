"""The numbers in a report are those of the model."""

import types

import jax
import numpy as np
import pandas
import pytest
from models import classes, classifier, forecaster, images, latent, regression, regressor, sequences

import shootax as sx
from cases import CONTROLS, FIELDS, KEY, inputs, make_net, usually
from shootax.report._encode import decoded
from shootax.report._paths import depths, particles_at, theta_at
from shootax.report._points import _kept
from shootax.report._reading import _kind
from shootax.report._results import NUMBERS, _confusion, _numbers, _sequences
from shootax.report._weights import _matrix
from shootax.report._write import build

pytestmark = pytest.mark.usefixtures("standard_promotion")


def frames_of(made):
    return np.asarray(made["nets"][0]["times"])


def test_points_are_the_states_of_the_net():
    net, x, y = regression()
    made = build(net, x, y)
    states = np.asarray(net.states(x, frames_of(made)))
    axes = {axis["name"]: decoded(axis["data"]) for axis in made["nets"][0]["flow"]["axes"]}
    for i, name in enumerate(("x1", "v1", "v2", "v3")):
        np.testing.assert_allclose(axes[name], states[:, :, i].T, atol=1e-6)
    facts = dict(made["facts"][0]["rows"])
    assert facts["particles"] == str(net.control.ensemble.particles)
    assert facts["parameters"] == str(sx.count(net))


def test_principal_components_are_a_turn_of_the_states():
    net, x, y = regression()
    made = build(net, x, y)
    named = made["nets"][0]["flow"]["axes"]
    components = [a for a in named if a["name"].startswith("principal component")]
    assert len(components) == 3
    flat = np.asarray(net.states(x, frames_of(made))).reshape(-1, 4)
    values = np.linalg.svd(flat - flat.mean(axis=0), compute_uv=False)
    first = decoded(components[0]["data"])
    np.testing.assert_allclose(np.sqrt(np.sum(first**2)), values[0], rtol=1e-5)


def test_particles_follow_hamilton_s_equations():
    """Their positions move as data do, and their momenta give the Hamiltonian of the library."""
    net, _, _ = regression()
    times = np.linspace(0, 1, 6)
    q, p = particles_at(net, times)
    moved = sx.flow(net.field, net.control, net.control.ensemble.q, times=times, integrator=STEPS5)
    np.testing.assert_allclose(q, np.swapaxes(moved, 0, 1), atol=1e-12)
    theta = theta_at(net, times)
    _, energy = sx.hamiltonian_path(net)
    for k in range(len(times)):
        at = jax.tree.map(lambda leaf, k=k: leaf[k], theta)
        speed = jax.vmap(net.field, in_axes=(0, None))(q[k], at)
        value = np.sum(np.asarray(p[k] * speed)) - float(net.control.penalty(at))
        np.testing.assert_allclose(value, energy[k], rtol=1e-9)


STEPS5 = sx.RK4(steps=5)


def test_weights_and_energy_are_those_of_the_library():
    net, x, y = regression()
    part = build(net, x, y)["nets"][0]
    theta = sx.theta_path(net, part["times"])
    for entry, (name, leaf) in zip(part["weights"]["parts"], sorted(theta.items()), strict=True):
        assert entry["name"].replace("θ", "theta")[0] == name[0]
        flat = np.asarray(leaf).reshape(len(leaf), -1)
        np.testing.assert_allclose(decoded(entry["norm"]), np.linalg.norm(flat, axis=1), rtol=1e-5)
    assert part["weights"]["particles"] == net.control.ensemble.particles
    np.testing.assert_allclose(part["energy"]["penalty"], sx.penalty(net), rtol=1e-9)
    np.testing.assert_allclose(part["energy"]["drift"], sx.hamiltonian_drift(net), rtol=1e-6)
    rates = decoded(part["energy"]["rate"])
    np.testing.assert_allclose(rates.mean(), sx.penalty(net), rtol=1e-3)  # R is conserved


def test_singular_values_beyond_the_particles_are_zero():
    net, x, y = regression()
    parts = build(net, x, y)["nets"][0]["weights"]["parts"]
    (third,) = [part for part in parts if part["name"] == "θ₃"]
    values = decoded(third["singular"])
    assert values.shape[1] == 3
    assert (values[:, 1] > 1e-9).any()
    assert (values[:, 2] < 1e-9).all()  # two particles


def test_a_particle_taken_out_changes_the_loss_by_what_is_said():
    net, x, y = regression()
    made = build(net, x, y)["nets"][0]["energy"]["particles"]
    q, p = net.control.ensemble.q[1:], net.control.ensemble.p[1:]
    fewer = sx.Particles(net.field, sx.Ensemble(q, p))
    z = sx.flow(net.field, fewer, net.lifted(x), integrator=net.integrator)
    change = np.mean((np.asarray(z[:, :1]) - y) ** 2) - np.mean((np.asarray(net(x)) - y) ** 2)
    np.testing.assert_allclose(made["loss"][0], change, rtol=1e-6)
    np.testing.assert_allclose(
        made["penalty"][0],
        float(fewer.cost(net.field, net.integrator)) - float(sx.penalty(net)),
        rtol=1e-6,
    )


def test_the_function_at_the_end_is_the_net():
    net, x, y = regression()
    made = build(net, x, y)["nets"][0]["function"]
    grid = decoded(made["axes"][0]).astype(float)
    np.testing.assert_allclose(
        decoded(made["values"])[-1, 0], np.asarray(net(grid[:, None]))[:, 0], atol=1e-5
    )


def test_labels_are_told_from_numbers():
    x, words = np.ones((3, 2)), np.array(["b", "a", "b"])
    kind, numbers, times, names = _kind(lambda x: x, x, words, None)
    assert (kind, numbers.tolist(), times, names) == ("classes", [1, 0, 1], None, ["a", "b"])
    kind, numbers, _, names = _kind(lambda x: x, x, np.array([[1], [0], [1]]), None)
    assert (kind, numbers.tolist(), names) == ("classes", [1, 0, 1], ["0", "1"])
    with pytest.raises(ValueError, match=r"shape \(3, 2\), but the targets have shape \(3,\)"):
        _kind(lambda x: x, x, np.array([2, 0, 1]), None)
    assert _kind(lambda x: x, x, 2 * x, None)[0] == "numbers"
    assert _kind(lambda x: x, x, None, [0.5])[:2] == (None, None)


def test_confusion_by_hand():
    subject = types.SimpleNamespace(classes=["a", "b"], y=np.array([0, 0, 1, 1, 1]))
    outputs = np.array([[2.0, 1, 0], [0, 1, 0], [0, 1, 0], [3, 4, 0], [0, 1, 2]])
    made = _confusion(outputs, subject)
    assert made["labels"] == ["a", "b", "2"]
    assert made["table"] == [[1, 1, 0], [0, 2, 1], [0, 0, 0]]
    assert made["accuracy"] == 0.6


def test_coordinates_that_are_shown():
    states = np.random.default_rng(0).normal(size=(50, 2, 5)) * [0.1, 1, 9, 3, 2]
    names = list("abcde")
    assert _kept(states, names, 1, 5) == [0, 1, 2, 3, 4], "all of them, in their order"
    assert _kept(states, names, 1, 4) == [0, 2, 3, 4], "the visible one, then those that vary most"
    assert _kept(states, names, 5, 4) == [0, 1, 2, 3]


def test_large_matrices_are_shown_at_fewer_depths():
    matrices = np.random.default_rng(0).normal(size=(20, 16, 17))
    small, large = _matrix(matrices[:, :, :16], 16), _matrix(matrices, 17)
    assert small["frames"] == list(range(20))
    assert large["frames"] == [0, 3, 5, 8, 11, 14, 16, 19]
    assert [small["cut"], large["cut"], _matrix(matrices, 16)["cut"]] == [False, False, True]
    np.testing.assert_allclose(
        decoded(large["singular"])[1], np.linalg.svd(matrices[3], compute_uv=False), rtol=1e-6
    )
    assert small["largest"] == np.abs(matrices[:, :, :16]).max()


def test_as_many_sequences_as_there_is_room_for():
    def shown(*shape):
        frames = np.random.default_rng(0).normal(size=shape)
        subject = types.SimpleNamespace(
            outputs=lambda: frames, unscale=lambda values: values, kind="sequences", y=frames + 2,
            truth=None, columns=[], estimator=None, times=np.arange(shape[1]),
        )  # fmt: skip
        made = _sequences(subject)
        assert np.isclose(made["error"], 4)
        assert (made["sequences"], len(decoded(made["predicted"]))) == (shape[0], made["shown"])
        return decoded(made["predicted"]).shape

    assert shown(5, 3, 2) == (5, 3, 2)
    assert shown(30, 3) == (24, 3, 1)
    assert shown(4, 3, 9) == (4, 3, 6)
    assert shown(7, 10, 1, 30, 30) == (NUMBERS // (10 * 30 * 30), 10, 30, 30)
    assert shown(2, 3, 100, 40) == (2, 3, 34, 14)


@pytest.mark.slow
def test_regions_and_confusion_of_a_classifier():
    net, x, y = classes()
    made = build(net, x, y)
    function, results = made["nets"][0]["function"], made["results"]
    across, up = (decoded(axis).astype(float) for axis in function["axes"])
    regions = decoded(function["regions"])[-1].reshape(len(up), len(across))
    scores = np.asarray(net(np.array([[across[3], up[7]]])))
    assert regions[7, 3] == scores[0].argmax()
    predicted = np.asarray(net(x)).argmax(axis=1)
    assert results["table"] == [
        [int(np.sum((y == i) & (predicted == j))) for j in (0, 1)] for i in (0, 1)
    ]


@pytest.mark.slow
def test_sequences_and_images():
    net, x, y = sequences()
    results = build(net, x, y)["results"]
    assert results["kind"] == "sequences"
    np.testing.assert_allclose(
        decoded(results["predicted"]), net(x, np.linspace(0, 1, 6)), atol=1e-6
    )
    np.testing.assert_allclose(decoded(results["true"]), y, atol=1e-6)
    model, first, frames = latent()
    results = build(model, first, frames)["results"]
    assert results["kind"] == "images"
    np.testing.assert_allclose(decoded(results["predicted"]), model(first), atol=1e-5)


def test_masked_frames_are_gaps():
    model, first, frames = latent()
    mask = np.ones((3, 3))
    mask[0, 1] = 0
    results = build(model, first, sx.nn.Masked(frames, mask))["results"]
    assert np.isnan(decoded(results["true"])[0, 1]).all()
    assert np.isfinite(results["error"])


def test_a_baked_net_shows_what_the_original_does():
    net, x, y = regression()
    plain = sx.bake(net)
    made, original = build(plain, x, y), build(net, x, y)
    np.testing.assert_allclose(frames_of(made), np.linspace(0, 1, 6))
    ours, theirs = (each["nets"][0]["weights"]["parts"][2] for each in (made, original))
    assert ours["name"] == theirs["name"]
    same = np.searchsorted(frames_of(original), frames_of(made) - 1e-9)
    np.testing.assert_allclose(decoded(ours["norm"]), decoded(theirs["norm"])[same], rtol=1e-3)
    assert made["nets"][0]["energy"].get("hamiltonian") is None


@pytest.mark.slow
def test_blocks_of_an_image_classifier_get_their_own_inputs():
    for passing in (True, False):
        model, x, y = images(passing)
        made = build(model, x, y)
        assert [net["name"] for net in made["nets"]] == ["net 1 of 2", "net 2 of 2"]
        assert [len(net["flow"]["axes"]) for net in made["nets"]] == [2, 5]
        assert made["results"]["kind"] == "classes"
        assert all(net["flow"]["samples"] == 5 for net in made["nets"])


def test_an_estimator_in_the_units_of_its_table():
    model, table, y = regressor()
    made = build(model, table, y)
    predicted = decoded(made["results"]["predicted"])[0]
    np.testing.assert_allclose(predicted, model.predict(table), rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(decoded(made["results"]["true"])[0], y, rtol=1e-5, atol=1e-6)
    assert made["training"]["objective"] == model.loss_curve_
    (names,) = [each["rows"] for each in made["facts"] if each["title"] == "Columns"]
    assert [value for _, value in names] == [*table.columns, "a & b <b>"]
    with pytest.raises(ValueError, match=r"fitted with .*'width'\]. Give the same columns"):
        build(model, table[table.columns[::-1]], y)


@pytest.mark.slow
def test_a_classifier_of_a_table():
    model, x, y = classifier()
    results = build(model, x, y)["results"]
    predicted = model.predict(x)
    assert results["labels"] == ["<i>up", "down"]
    assert results["accuracy"] == pytest.approx(np.mean(predicted == y))
    assert results["table"][0][1] == np.sum((y == "<i>up") & (predicted == "down"))
    with pytest.raises(ValueError, match="class 'sideways'"):
        build(model, x, np.where(x[:, 0] > 9, "up", "sideways"))


@pytest.mark.slow
def test_a_forecaster_against_the_end_of_its_sequences():
    model, waves = forecaster()
    results = build(model, waves)["results"]
    expected = model.predict(waves[:, :-4], steps=4)
    np.testing.assert_allclose(decoded(results["predicted"]), expected, atol=1e-4)
    np.testing.assert_allclose(decoded(results["true"]), waves[:, -4:], atol=1e-5)
    for series in (waves[0, :, 0], pandas.Series(waves[0, :, 0]), pandas.DataFrame(waves[0])):
        single = decoded(build(model, series)["results"]["predicted"])
        np.testing.assert_allclose(single, expected[:1], atol=1e-4)


@pytest.mark.parametrize("control", usually(CONTROLS, "static", "frozen"))
@pytest.mark.parametrize("field", usually(FIELDS, "pendulum"))
def test_every_field_and_control(field, control):
    net = make_net(field, control, integrator=sx.RK4(steps=2))
    made = build(net, inputs(net.field, 3))
    part = made["nets"][0]
    assert part["flow"]["samples"] == 3
    assert all(np.isfinite(decoded(entry["norm"])).all() for entry in part["weights"]["parts"])


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        lambda: sx.Net(sx.RKHS(2), particles=2, integrator=STEPS5, key=KEY),
        pytest.param(
            lambda: sx.Net(sx.SingleHiddenLayer(2, 2), particles=2, integrator=STEPS5, key=KEY),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda: sx.Net(sx.Affine(2), particles=2, integrator=sx.Tsit5(), key=KEY),
            marks=pytest.mark.slow,
        ),
        lambda: sx.Net(
            sx.Affine(2),
            sx.Particles.draw(sx.Affine(2), 2, penalty=sx.Transport(), key=KEY),
            integrator=sx.RK4(steps=2),
            key=KEY,
        ),
    ],
    ids=["rkhs", "single-hidden-layer", "adaptive", "transport"],
)
def test_other_fields_penalties_and_integrators(make):
    net = make()
    part = build(net)["nets"][0]
    assert part["flow"]["samples"] == 100
    assert np.isfinite(part["energy"]["penalty"])
    assert np.isfinite(part["energy"]["drift"])


def test_many_samples_are_subsampled_and_it_says_so():
    net, _, _ = regression()
    made = build(net, np.linspace(-1, 1, 501)[:, None])
    assert made["nets"][0]["flow"]["samples"] == 200
    assert "200 of 501 samples are shown, drawn at random." in made["notes"]


def test_depths_are_grid_points():
    net, _, _ = regression()
    assert set(np.round(np.arange(6) / 5, 9)) <= set(np.round(depths(net), 9))
    np.testing.assert_allclose(depths(sx.bake(net)), [0, 0.2, 0.4, 0.6, 0.8, 1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, np.ones((3, 1))), "without inputs"),
        ((np.ones((4, 1)), np.ones((3, 1))), "4 samples, but y has 3"),
        ((np.ones((3, 1)), np.ones((3, 2))), r"shape \(3, 1\)"),
    ],
)
def test_data_that_do_not_fit(arguments, message):
    with pytest.raises(ValueError, match=message):
        build(regression()[0], *arguments)


def test_the_share_that_is_explained_is_one_minus_error_over_variance():
    y = np.array([[1.0], [3.0], [3.0]])
    subject = types.SimpleNamespace(unscale=lambda values: 2 * values, y=y, target="y")
    made = _numbers(np.array([[1.0], [2.0], [4.0]]), subject)
    np.testing.assert_allclose(made["error"], [4 * 2 / 3])
    np.testing.assert_allclose(made["explained"], [1 - (2 / 3) / (8 / 9)])
