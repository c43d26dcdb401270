"""Random effects of inputs that repeat."""

import functools
import json
import pickle

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import shootax as sx
from cases import rewrite_header
from shootax.cli.app import app
from shootax.report._estimators import of_estimator
from shootax.sklearn import ShootingRegressor, load_estimator
from shootax.sklearn import _repeats as repeats
from shootax.sklearn._tables import merged

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2, "max_iter": 5}


def grouped(groups=60, rows=4, effect=1.0, noise=0.5, outputs=1, seed=0):
    """Each input several times, its targets with an effect in common that is not smooth."""
    rng = np.random.default_rng(seed)
    x = np.repeat(rng.normal(size=(groups, 3)), rows, axis=0)
    effects = effect * np.repeat(rng.normal(size=(groups, outputs)), rows, axis=0)
    return x, effects + noise * rng.normal(size=effects.shape)


def estimated(x, residuals, weight=None):
    weight = np.ones(len(x)) if weight is None else weight
    samples = merged(x, residuals, weight)
    return repeats.estimated(samples, samples.y)


@pytest.mark.parametrize("sizes", [[4] * 40, [1, 2, 3, 9, 2, 2, 5, 4] * 6], ids=["equal", "uneven"])
def test_effects_are_those_of_the_mixed_model(sizes):
    """$τ^2 1 (τ^2 1^⊤ 1 + σ^2)^{-1} r$ with all matrices written out, where an input repeats."""
    rng = np.random.default_rng(1)
    x = np.repeat(np.arange(len(sizes), dtype=float), sizes)[:, None]
    r = np.repeat(rng.normal(size=len(sizes)), sizes)[:, None] + 0.7 * rng.normal(size=(len(x), 1))
    found = estimated(x, r)
    assert found is not None
    member = (x == np.arange(len(sizes))).astype(float)
    cov = found.between * member @ member.T + found.within * np.eye(len(x))
    want = found.between * member.T @ np.linalg.solve(cov, r)
    known = found.repeats.inputs[:, 0].astype(int)
    assert sorted(known) == [g for g, n in enumerate(sizes) if n > 1]
    np.testing.assert_allclose(found.repeats.effects, want[known], rtol=1e-10)


def test_variances_of_equal_groups_are_those_of_the_analysis_of_variance():
    x, r = grouped()
    means = r.reshape(60, 4).mean(axis=1)
    within = np.sum((r.reshape(60, 4) - means[:, None]) ** 2) / (240 - 60)
    found = estimated(x, r)
    assert found is not None
    np.testing.assert_allclose(found.within, [within], rtol=1e-10)
    np.testing.assert_allclose(found.between, [np.mean(means**2) - within / 4], rtol=1e-10)


def test_known_variances_are_recovered_without_bias():
    """Ten tables of 400 groups: their mean is within four standard errors of the truth."""
    tables = [grouped(400, 3, effect=0.6, noise=1.5, seed=seed) for seed in range(10)]
    found = [estimated(*table) for table in tables]
    assert all(f is not None for f in found)
    values = np.array([[f.between[0], f.within[0]] for f in found if f is not None])
    error = values.std(axis=0, ddof=1) / 10**0.5
    assert (np.abs(values.mean(axis=0) - [0.36, 2.25]) < 4 * error).all()
    assert (error < [0.06, 0.06]).all()


def test_left_out_effects_do_not_know_their_own_row():
    """Against a second estimate of the sums without that row, with the same variances."""
    x, r = grouped(30, 3)
    samples = merged(x, r, np.ones(len(x)))
    found = repeats.estimated(samples, samples.y)
    assert found is not None
    for i in (0, 17, 50):
        others = (samples.x == samples.x[i]).all(axis=1)
        others[i] = False
        total, n = samples.y[others].sum(), others.sum()
        want = found.between * total / (n * found.between + found.within)
        np.testing.assert_allclose(found.left_out[i], want, rtol=1e-10)


@pytest.mark.parametrize("tail", [1.5, 30])
def test_no_effect_is_rarely_found_where_there_is_none(tail):
    """Also with heavy tails, on which an F test would rely."""
    rng = np.random.default_rng(2)
    x = np.repeat(np.arange(80.0), rng.integers(1, 8, 80))[:, None]
    found = [estimated(x, rng.standard_t(tail, (len(x), 1))) for _ in range(300)]
    assert sum(f is not None for f in found) <= 6


def test_only_outputs_with_evidence_have_effects():
    x, y = grouped(outputs=2)
    y[:, 1] = np.random.default_rng(3).normal(size=len(y))
    found = estimated(x, y)
    assert found is not None
    assert found.between[0] > 0.5
    assert (found.repeats.effects[:, 1] == 0).all()
    assert (found.left_out[:, 1] == 0).all()


def test_effects_too_small_to_matter_are_left_out():
    """Evident with so many rows, but a two-hundredth of the variance."""
    x, r = grouped(100, 1000, effect=0.07, noise=1.0)
    assert estimated(x, r) is None
    assert estimated(x, 2 * r + np.repeat(np.sin(np.arange(100.0)), 1000)[:, None]) is not None


def test_copies_of_rows_are_no_evidence():
    """Rows drawn twice, or with weights, say nothing of noise; counts that agree by chance do."""
    rng = np.random.default_rng(4)
    x, noise = rng.normal(size=(200, 3)), rng.normal(size=(200, 1))
    drawn = rng.integers(200, size=600)
    assert estimated(x[drawn], noise[drawn]) is None
    assert estimated(x[drawn], np.rint(noise[drawn])) is None
    assert estimated(x, noise, np.full(200, 3.0)) is None
    groups = np.repeat(np.arange(100.0), 6)[:, None]
    mean = np.repeat(rng.gamma(2.0, 1.0, 100), 6)[:, None]
    counts = rng.poisson(mean) - 2.0
    found, weighted = estimated(groups, counts), estimated(groups, counts, np.full(600, 0.3))
    assert found is not None
    assert weighted is not None
    np.testing.assert_allclose(found.between, 2.0, atol=0.7)
    np.testing.assert_allclose(found.within, 2.0, atol=0.3)
    assert weighted.within > found.within  # weights that are no counts: agreement counts less


def test_ordinary_tables_are_fitted_as_without_it():
    """No repeats, and repeats without an effect: the same predictions, bit for bit."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(90, 3))
    rounded = np.rint(x)
    for inputs in (x, rounded):
        y = inputs[:, 0] + rng.normal(size=90)
        pair = [
            ShootingRegressor(**SMALL, repeated_inputs=r).fit(inputs, y) for r in ("auto", None)
        ]
        assert pair[0].n_repeated_inputs_ == 0
        np.testing.assert_array_equal(pair[0].predict(inputs), pair[1].predict(inputs))
        assert pair[0].best_validation_score_ == pair[1].best_validation_score_


@functools.cache
def fitted():
    x, y = grouped(80, 5, outputs=2)
    x = np.concatenate([x, np.full((len(x), 1), 3.0)], axis=1)  # a constant column
    x[:, 1] = np.rint(x[:, 1])
    return ShootingRegressor(**SMALL).fit(x, y), x, y


def test_seen_inputs_have_their_effect_and_new_ones_do_not():
    model, x, y = fitted()
    alone = ShootingRegressor(**SMALL, repeated_inputs=None).fit(x, y)
    assert model.n_repeated_inputs_ == 80
    assert model.score(x, y) > 0.6 > 0.3 > alone.score(x, y)
    assert 0.4 < model.best_validation_score_ < model.score(x, y)
    new = x + np.array([1e-9, 0, 0, 0])
    np.testing.assert_array_equal(model.predict(new), alone.predict(new))
    # Another sign of zero, another value in a constant column.
    moved = np.where(x == 0, -0.0, x)
    moved[:, 3] = 7
    np.testing.assert_array_equal(model.predict(moved), model.predict(x))
    assert model.loss_ == alone.loss_


def test_held_out_score_is_about_that_of_new_rows():
    x, y = grouped(300, 6)
    train = np.arange(len(x)) % 6 > 0
    model = ShootingRegressor(**SMALL).fit(x[train], y[train])
    assert abs(model.best_validation_score_ - model.score(x[~train], y[~train])) < 0.1


def test_weights_are_repeats():
    _, x, y = fitted()
    x, y = x[::2], np.rint(2 * y[::2])
    weight = np.random.default_rng(6).integers(0, 4, len(x))
    weighted = ShootingRegressor(**SMALL).fit(x, y, sample_weight=weight)
    repeated = ShootingRegressor(**SMALL).fit(x.repeat(weight, 0), y.repeat(weight, 0))
    assert weighted.n_repeated_inputs_ > 40
    np.testing.assert_array_equal(weighted.predict(x), repeated.predict(x))


def test_single_precision_is_compared_as_such():
    x, y = grouped(60, 5)
    model = ShootingRegressor(**SMALL).fit(x.astype(np.float32), y[:, 0])
    assert model.n_repeated_inputs_ == 60
    same = model.predict(x.astype(np.float32))
    np.testing.assert_allclose(model.predict(x), same, atol=1e-5)


def test_a_constant_target_has_no_effects():
    x, y = grouped(40, 3, outputs=2)
    y[:, 1] = 4.0
    model = ShootingRegressor(**SMALL).fit(x, y)
    assert (model.predict(x)[:, 1] == 4.0).all()
    assert ShootingRegressor(**SMALL).fit(x, y[:, 1]).n_repeated_inputs_ == 0


def test_files_and_pickles_keep_the_effects(tmp_path):
    model, x, _ = fitted()
    model.save(tmp_path / "m.safetensors")
    for again in (load_estimator(tmp_path / "m.safetensors"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(again.predict(x), model.predict(x))
        assert again.n_repeated_inputs_ == 80
        assert again.get_params() == model.get_params()
    assert (tmp_path / "m.safetensors").stat().st_size < 20_000
    record = sx.load_record(tmp_path / "m.safetensors")
    state = record["estimator"]["state"]
    for strange in ({"count": 3}, {"effects": []}, {"columns": [{"levels": "?", "codes": ""}]}):
        state["repeats"] = {**model._repeats.to_json(), **strange}
        rewrite_header(tmp_path / "m.safetensors", record=json.dumps(record))
        with pytest.raises(sx.FileFormatError, match="Fit the estimator again"):
            load_estimator(tmp_path / "m.safetensors")


@pytest.mark.parametrize("levels", [1, 2, 300, 70_000])
def test_inputs_come_back_bit_for_bit(levels):
    rng = np.random.default_rng(7)
    x = rng.normal(size=levels)[rng.integers(levels, size=(levels, 2))]
    found = repeats.Repeats(x, rng.normal(size=(levels, 1)), True)
    again = repeats.Repeats.from_json(json.loads(json.dumps(found.to_json())), 2, 1)
    np.testing.assert_array_equal(again.inputs, x)
    np.testing.assert_array_equal(again.effects, found.effects)
    assert again.single


def test_too_many_inputs_for_a_file():
    many = np.broadcast_to(0.0, (3_000_000, 3))
    with pytest.raises(
        ValueError, match=r"3000000 repeated inputs with 3 columns.*repeated_inputs=None"
    ):
        repeats.Repeats(many, many[:, :1]).to_json()


def test_export_is_refused_with_a_way_out(tmp_path):
    model, x, y = fitted()
    with pytest.raises(ValueError, match=r"80 repeated inputs .* Fit with repeated_inputs=None"):
        sx.export.write(model, tmp_path / "m.npz", to="numpy")
    alone = ShootingRegressor(**SMALL, repeated_inputs=None).fit(x, y)
    assert len(sx.export.write(alone, tmp_path / "m.npz", to="numpy")) == 4


def test_a_report_says_that_it_shows_the_net_alone():
    model, x, y = fitted()
    notes = of_estimator(model, x, y).notes
    assert any("80 inputs that repeat" in n and "only shows the net" in n for n in notes)
    alone = ShootingRegressor(**SMALL, repeated_inputs=None).fit(x, y)
    assert not any("repeat" in n for n in of_estimator(alone, x, y).notes)


def test_wrong_argument():
    x, y = grouped(10, 2)
    for wrong in ("always", True, 3):
        with pytest.raises(ValueError, match=f"Unknown repeated_inputs {wrong!r}.*one of: auto"):
            ShootingRegressor(repeated_inputs=wrong).fit(x, y)


def test_commands(tmp_path):
    """`fit` says so, `predict` uses it, `info` counts, `export` refuses, and a flag switches it off."""
    rng = np.random.default_rng(8)
    room = np.repeat(rng.permutation(50), 6)
    frame = pd.DataFrame({"room": [f"r{i:02d}" for i in room // 7], "place": room % 7})
    frame["light"] = np.repeat(rng.normal(size=50), 6) + 0.3 * rng.normal(size=300)
    table, model, plain = (tmp_path / n for n in ("t.csv", "m.safetensors", "p.safetensors"))
    frame.to_csv(table, index=False)

    def command(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    fit = ("fit", table, "--target", "light", "--epochs", 3)
    said = " ".join(command(*fit, "--out", model).output.split())
    assert "50 repeated inputs have a random effect" in said
    assert "repeated inputs 50" in " ".join(command("info", model).output.split())
    assert (
        "repeated inputs have" not in command(*fit, "--out", plain, "--no-repeated-inputs").output
    )
    answers = [command("predict", path, table).stdout.split("\n")[1:301] for path in (model, plain)]
    errors = [np.mean((frame["light"] - np.array(a, float)) ** 2) for a in answers]
    assert errors[0] < 0.15 < errors[1]
    certified = command("certify", model, "--data", table)
    assert "net only, without the effects of repeated inputs" in " ".join(certified.output.split())
    refused = command("export", model, "--to", "numpy")
    assert refused.exit_code != 0
    assert command("export", plain, "--to", "numpy").exit_code == 0
