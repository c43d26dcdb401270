"""Estimators in files, without pickle."""

import contextlib
import itertools
import json
import pathlib

import jax
import numpy as np
import pytest

import shootax as sx
from cases import rewrite_header
from shootax._storage import container
from shootax.sklearn import ShootingClassifier, ShootingForecaster, ShootingRegressor

pytestmark = pytest.mark.usefixtures("standard_promotion")

FILES = pathlib.Path(__file__).parents[1] / "files"
SMALL = {"width": 4, "particles": 2, "depth": 2, "max_iter": 5}
X = np.random.default_rng(0).normal(size=(60, 3)) * 1e5 + 1e9
Y = X[:, 0] - 2 * X[:, 1]
HIGH = (np.median(Y) < Y).astype(int)


def test_regressor(tmp_path):
    model = ShootingRegressor(**SMALL, penalty_weight=np.float64(0.5)).fit(X, np.stack([Y, -Y], 1))
    model.save(tmp_path / "m", record={"note": "kept"})
    again = ShootingRegressor.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params() == model.get_params()
    assert again.loss_curve_ == model.loss_curve_
    assert again.energy_ == model.energy_
    record = sx.load_record(tmp_path / "m")
    assert record["note"] == "kept"
    assert record["version"] == sx.__version__
    assert sx.count(sx.load(tmp_path / "m")) == model.n_parameters_


@pytest.mark.parametrize(
    "labels",
    [["a", "b"], np.array(["a", "b"], dtype=object), [3, 7], [False, True], [0.0, 1.0]],
    ids=["text", "object", "int", "bool", "float"],
)
def test_classes_come_back_with_their_type(labels, tmp_path):
    y = np.asarray(labels)[HIGH]
    model = ShootingClassifier(**SMALL).fit(X, y)
    model.save(tmp_path / "m")
    again = ShootingClassifier.load(tmp_path / "m")
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_classes_of_an_array_with_room_for_longer_text(tmp_path):
    """As in a part of a table in which the longest class does not occur."""
    y = np.array(["no", "yes", "a class with a long name"])[HIGH]
    model = ShootingClassifier(**SMALL).fit(X, y)
    model.save(tmp_path / "m")
    again = ShootingClassifier.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.classes_.tolist() == ["no", "yes"]


@pytest.mark.slow
def test_forecaster(tmp_path):
    phase = np.arange(25) * 0.3 + np.arange(24)[:, None]
    waves = np.stack([np.sin(phase), np.cos(phase)], axis=-1)
    model = ShootingForecaster(**SMALL, history=2, horizon=5).fit(waves)
    model.save(tmp_path / "m")
    again = ShootingForecaster.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict(waves), model.predict(waves))


def test_files_do_not_keep_the_devices(tmp_path):
    mesh = jax.make_mesh((1,), ("data",))
    model = ShootingRegressor(**SMALL, mesh=mesh).fit(X, Y)
    model.save(tmp_path / "m")
    again = ShootingRegressor.load(tmp_path / "m")
    assert again.mesh is None
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_files_of_other_kinds_and_versions(tmp_path):
    path = tmp_path / "m"
    ShootingRegressor(**SMALL).fit(X, Y).save(path)
    with pytest.raises(sx.FileFormatError, match="holds a ShootingRegressor, expected ShootingCl"):
        ShootingClassifier.load(path)
    record = sx.load_record(path)
    future = {"estimator": {**record["estimator"], "format": 2}}
    rewrite_header(path, record=json.dumps(future), version="9.0.0")
    with pytest.raises(
        sx.FileFormatError, match=r"written by shootax 9.0.0 with estimator format 2.*again"
    ):
        ShootingRegressor.load(path)
    renamed = {**record["estimator"], "parameters": {"swiftness": 3}}
    rewrite_header(path, record=json.dumps({"estimator": renamed}))
    with pytest.raises(sx.FileFormatError, match=r"by shootax 9.0.0, cannot be read .*swiftness"):
        ShootingRegressor.load(path)
    rewrite_header(path, record="{}")
    with pytest.raises(sx.FileFormatError, match="holds a net, but no estimator"):
        ShootingRegressor.load(path)


def test_labels_that_no_file_can_hold(tmp_path):
    y = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]")[HIGH]
    model = ShootingClassifier(**SMALL).fit(X, y)
    with pytest.raises(sx.FileFormatError, match="Class labels of type date"):
        model.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("kind", [ShootingRegressor, ShootingClassifier])
def test_files_of_the_first_format(kind):
    name = f"format1-{kind.__name__.removeprefix('Shooting').lower()}"
    want = json.loads((FILES / f"{name}.json").read_text())
    model = kind.load(FILES / f"{name}.safetensors")
    x = np.array(want["input"])
    if kind is ShootingClassifier:
        assert model.predict(x).tolist() == want["labels"]
        np.testing.assert_allclose(model.predict_proba(x), want["output"], rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_allclose(model.predict(x), want["output"], rtol=1e-4, atol=1e-5)


def test_a_forecaster_from_before_there_was_an_autoregression():
    want = json.loads((FILES / "format2-forecaster.json").read_text())
    model = ShootingForecaster.load(FILES / "format2-forecaster.safetensors")
    x = np.array(want["input"])
    np.testing.assert_allclose(model.predict(x, steps=5), want["output"], rtol=1e-4, atol=1e-5)
    assert (model.history_, model.network_share_) == (2, 1)
    with pytest.raises(ValueError, match="If the model is from an older file"):
        model.predict_interval(x)


@pytest.mark.parametrize("kind", [ShootingRegressor, ShootingClassifier])
def test_strange_records_never_raise_anything_else(kind, tmp_path):
    name = f"format1-{kind.__name__.removeprefix('Shooting').lower()}.safetensors"
    header, tensors, _ = container.read(FILES / name)
    about = json.loads(header["record"])["estimator"]
    entries = [(part, None) for part in about]
    entries += [(part, k) for part, v in about.items() if isinstance(v, dict) for k in v]
    junk = [None, True, [], {}, 10**30, "x", {"values": ["a"], "dtype": "U1000000000"}]
    for (part, key), value in itertools.product(entries, junk):
        changed = json.loads(json.dumps(about))
        (changed if key is None else changed[part])[part if key is None else key] = value
        record = json.dumps({"estimator": changed})
        container.write(tmp_path / "m", {**header, "record": record}, tensors)
        with contextlib.suppress(sx.FileFormatError):
            kind.load(tmp_path / "m")
    for value in ([], 3, "x"):
        record = json.dumps({"estimator": value})
        container.write(tmp_path / "m", {**header, "record": record}, tensors)
        with pytest.raises(sx.FileFormatError, match="no estimator"):
            kind.load(tmp_path / "m")
