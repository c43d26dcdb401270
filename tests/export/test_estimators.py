"""Exported estimators take raw samples and give what `predict` and `predict_proba` give."""

import functools
import importlib.util
import json
import subprocess
import sys

import jax
import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from typer.testing import CliRunner

import shootax as sx
from shootax.cli.app import app
from shootax.export import TARGETS, difference, run_exported, table_reader
from shootax.export._whole import doubles
from shootax.export._write import ENDINGS
from shootax.sklearn import ShootingClassifier, ShootingForecaster, ShootingRegressor
from shootax.sklearn import _calendar as calendar
from shootax.sklearn import _columns as columns
from shootax.sklearn import _dates as dates
from shootax.sklearn import _saving as saving

QUICK = {"max_iter": 2, "particles": 2, "depth": 2, "width": 4}
KINDS = (ShootingClassifier, ShootingRegressor)
pytestmark = pytest.mark.usefixtures("standard_promotion")


def command(*arguments):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.output


def weather(rows=60):
    """Text, numbers far from zero, entries that are missing, and a column that never changes."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "pressure": 1013 + 4 * rng.normal(size=rows),
            "wind": rng.choice(["north", "south", 'east"[red]', "", "NA"], rows),
            "year": rng.integers(2000, 2003, rows),
            "constant": 5.0,
            "humid": rng.random(rows) > 0.5,
            "sky": np.where(rng.random(rows) > 0.3, "fog", "[bold]clear"),
            "rain": 1e4 + 50 * rng.normal(size=rows),
        }
    )
    frame.loc[rng.random(rows) < 0.2, "pressure"] = np.nan
    return frame


def numbers(rows=60):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(rows, 3)) * [1, 50, 1e-3] + [0, 1e5, 7], columns=[*"abc"])
    frame["y"] = 300 + 20 * frame["a"]
    frame.loc[rng.random(rows) < 0.3, "b"] = np.nan
    return frame


def installed():
    return [to for to in TARGETS if to != "torch" or importlib.util.find_spec("torch")]


def predicted(model):
    """The answers of an estimator, by itself, for a table."""

    def answers(frame):
        if model._table is None:
            x = frame.to_numpy()
        else:
            x, _ = columns.encode(frame, columns.from_json(model._table["columns"]))
        return model.predict_proba(x) if isinstance(model, ShootingClassifier) else model.predict(x)

    return answers


def agree(got, wanted, note):
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(got / scale, wanted / scale, rtol=0, atol=1e-5, err_msg=note)


@functools.cache
def fitted(kind, folder):
    """The file of a model that the command has fitted, and its table as it is read again."""
    frame, target = (weather(), "sky") if kind == "weather" else (numbers(), "y")
    data, model = folder / f"{kind}.csv", folder / f"{kind}.safetensors"
    frame.to_csv(data, index=False)
    command("fit", data, "--target", target, "--out", model, "--epochs", 2, "--particles", 2)
    return model, pd.read_csv(data).drop(columns=target)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fitted")


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("kind", ["weather", "numbers"])
def test_a_fitted_table_is_exported_as_a_whole(kind, to, folder, tmp_path):
    if to not in installed():
        pytest.skip("needs torch")
    path, frame = fitted(kind, folder)
    out = tmp_path / f"m{ENDINGS[to]}"
    said = command("export", path, "--to", to, "--out", out)
    assert float(said.split("its table:")[1].split()[0]) < 1e-6
    spec = table_reader.load(tmp_path / "m.columns.json")
    raw = {name: list(frame[name]) for name in frame}
    got = run_exported(out, to, table_reader.rows(spec, raw))[0]
    model = saving.load(path, *KINDS)
    agree(got, predicted(model)(frame), to)
    if kind == "weather":
        assert got.shape == (60, 2)
        x = columns.encode(frame, columns.from_json(model._table["columns"]))[0]
        assert table_reader.labels(spec, got).tolist() == model.predict(x).tolist()
        new = frame.head(3).assign(wind=["never seen", None, "south"], year=[np.nan, 1999, 2005])
        got = run_exported(out, to, table_reader.rows(spec, new))[0]
        agree(got, predicted(model)(new), f"{to}, entries that training never saw")


@pytest.mark.parametrize("double", [False, True])
def test_in_python_and_in_single_precision(double, tmp_path):
    """The scaling stays in double precision: years would be lost in single."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 3)) * [1e-3, 1, 0] + [2020, 5, 3]
    y = np.stack([1e6 + x[:, 0], x[:, 1]], axis=1)
    with doubles(double):
        model = ShootingRegressor(**QUICK).fit(x, y)
        for to in installed():
            path = tmp_path / f"net{ENDINGS[to]}"
            written = sx.export.write(model, path, to=to)
            assert written[-2:] == [tmp_path / "net.columns.json", tmp_path / "net_columns.py"]
            (got,) = run_exported(path, to, x)
            agree((got - model._y.mean) / model._y.spread, model._y.forward(model.predict(x)), to)
            assert difference(model, path, to) < 1e-6


def test_one_target_and_classes_that_are_numbers(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 2))
    one = ShootingRegressor(**QUICK).fit(x, x[:, 0])
    sx.export.write(one, tmp_path / "one.npz", to="numpy")
    assert run_exported(tmp_path / "one.npz", "numpy", x[:3])[0].shape == (3,)
    two = ShootingClassifier(**QUICK).fit(pd.DataFrame(x, columns=["a[b]", 'c"']), x[:, 0] > 0)
    sx.export.write(two, tmp_path / "two.npz", to="numpy")
    spec = table_reader.load(tmp_path / "two.columns.json")
    assert [column["name"] for column in spec["inputs"]] == ["a[b]", 'c"']
    assert spec["outputs"]["classes"] == [False, True]
    for wrong in (np.ones((3, 3)), np.ones(2)):
        with pytest.raises(ValueError, match=r"probabilities of shape \(samples, 2\), got"):
            table_reader.labels(spec, wrong)
    with pytest.raises(ValueError, match="has no entry in row 2"):
        table_reader.rows(spec, {"a[b]": [1, np.nan], 'c"': [1, 2]})


def test_the_files_beside_need_numpy_alone(folder, tmp_path):
    path, frame = fitted("weather", folder)
    command("export", path, "--to", "numpy", "--out", tmp_path / "m.npz")
    raw = frame.head(4).astype(object).where(frame.head(4).notna(), None)
    (tmp_path / "raw.json").write_text(json.dumps({name: list(raw[name]) for name in raw}))
    program = """
import json, sys; sys.path.insert(0, '.')
import m, m_columns
spec = m_columns.load("m.columns.json")
y = m.load("m.npz")(m_columns.rows(spec, json.load(open("raw.json"))))
print(json.dumps([y.tolist(), [name for name in ("jax", "shootax", "pandas") if name in sys.modules]]))
"""
    done = subprocess.run(
        [sys.executable, "-I", "-c", program], cwd=tmp_path, capture_output=True, check=True
    )
    y, others = json.loads(done.stdout)
    assert others == []
    agree(np.array(y), predicted(saving.load(path, *KINDS))(frame.head(4)), "outside")


def test_columns_that_are_wrong_are_refused(folder, tmp_path):
    path, frame = fitted("weather", folder)
    command("export", path, "--to", "numpy", "--out", tmp_path / "m.npz")
    spec = table_reader.load(tmp_path / "m.columns.json")
    with pytest.raises(ValueError, match="lacks the columns"):
        table_reader.rows(spec, {"wind": ["north"]})
    for entry in ("high", np.inf, [3]):
        with pytest.raises(ValueError, match="'pressure' should hold"):
            table_reader.rows(spec, {**frame.head(1).to_dict("list"), "pressure": [entry]})
    for text in ("", "3", "{}", '{"inputs": 3, "outputs": {}}', "[" * 100_000, '{"inputs": [3]}',
                 '{"inputs": [{"name": "a", "kind": "code"}], "outputs": {}}'):  # fmt: skip
        (tmp_path / "bad.json").write_text(text)
        with pytest.raises(ValueError, match="does not describe the columns"):
            table_reader.load(tmp_path / "bad.json")


def test_columns_that_were_changed_or_belong_to_another_model_are_refused(tmp_path):
    x = np.random.default_rng(0).normal(size=(40, 2))
    frame = pd.DataFrame(x, columns=["first", "second"])
    sx.export.write(ShootingRegressor(**QUICK).fit(frame, x[:, 0]), tmp_path / "m.npz", to="numpy")
    path, model = tmp_path / "m.columns.json", tmp_path / "m.npz"
    spec, text, data = table_reader.load(path), path.read_text(), model.read_bytes()
    with pytest.raises(ValueError, match="predicts numbers; it has no classes"):
        table_reader.labels(spec, np.ones((1, 1)))
    for old, new in (("first", "forst"), ("checksum", "checksun"), ('"number"', '"number" ')):
        path.write_text(text.replace(old, new, 1))
        if new.endswith(" "):  # the layout is free
            assert table_reader.load(path) == spec
            continue
        with pytest.raises(ValueError, match="its checksum does not match"):
            table_reader.load(path)
    path.write_text(text)
    model.write_bytes(data + b" ")
    with pytest.raises(ValueError, match="the model beside it, which is another one"):
        table_reader.load(path)
    model.unlink()
    assert table_reader.load(path) == spec
    old = {**spec, "format": 1}  # of a version that wrote no checksum
    path.write_text(json.dumps(old))
    assert table_reader.load(path) == old


@pytest.mark.slow
@pytest.mark.parametrize(
    "formulation", ["dynamic-particles", pytest.param("dynamic-direct", marks=pytest.mark.slow)]
)
def test_forecasts(formulation, tmp_path):
    """Uneven times, missing entries, and times between the grid points of the integrator."""
    t = np.cumsum(np.random.default_rng(0).uniform(0.1, 0.3, 12))
    waves = 5 + np.sin(t + np.arange(6)[:, None])[:, :, None]
    waves[0, 0] = np.nan
    model = ShootingForecaster(history=3, horizon=2, formulation=formulation, **QUICK)
    model.fit(waves, times=t)
    for to in installed():
        sx.export.write(model, tmp_path / f"f{ENDINGS[to]}", to=to)
        assert difference(model, tmp_path / f"f{ENDINGS[to]}", to) < 1e-6
    assert not (tmp_path / "f_columns.py").exists(), "sequences are no table"
    even = ShootingForecaster(history=2, horizon=3, formulation=formulation, **QUICK)
    even.fit(waves[1:]).save(tmp_path / "even.safetensors")
    said = command("export", tmp_path / "even.safetensors", "--to", "numpy")
    assert float(said.split("its table:")[1].split()[0]) < 1e-6
    with pytest.raises(ValueError, match="--steps cannot be used with a ShootingForecaster"):
        command("export", tmp_path / "even.safetensors", "--to", "numpy", "--steps", 2)


def test_what_is_not_for_estimators_is_refused(folder, tmp_path):
    path, _ = fitted("numbers", folder)
    model = saving.load(path, *KINDS)
    with pytest.raises(ValueError, match="Leave out --input"):
        command("export", path, "--to", "onnx", "--input", "4", "--out", tmp_path / "m.onnx")
    with pytest.raises(ValueError, match="leave `input` out"):
        sx.export.write(model, tmp_path / "m.onnx", to="onnx", input=(4,))
    with pytest.raises(ValueError, match=r"bake\(estimator.net_\) gives the net alone"):
        sx.bake(model)
    with pytest.raises(ValueError, match="holds a ShootingRegressor; compress takes a single Net"):
        command("compress", path)
    assert not list(tmp_path.iterdir())
    again = model.fit(np.ones((5, 1)) * np.arange(5)[:, None], np.arange(5.0))
    assert again._table is None, "another table was fitted"


def dated(rows=50):
    """Dates as text in two ways of writing, and as moments with gaps."""
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2019-02-25") + pd.to_timedelta(rng.integers(0, 900, rows), unit="D")
    moments = days.as_unit("s") + pd.to_timedelta(rng.integers(0, 86400, rows), unit="s")
    frame = pd.DataFrame(
        {
            "day": days.strftime("%Y-%m-%d"),
            "size": rng.normal(size=rows),
            "seen": days.strftime("%d.%m.%Y"),
            "at": pd.Series(moments).dt.tz_localize("Europe/Berlin", ambiguous=True),
        }
    )
    frame.loc[[4, 7], "at"] = pd.NaT
    return frame


def test_dates_are_exported(tmp_path):
    """Raw dates by way of the file beside the program, against `predict` on the same table."""
    frame = dated()
    known = columns.learn(frame)
    assert [column.kind for column in known] == ["date", "number", "date", "date"]
    x = columns.encode(frame, known)[0]
    model = ShootingRegressor(**QUICK).fit(x, np.sin(x[:, 0]) + x[:, 3])
    model._table = {"target": "y", "columns": columns.to_json(known)}
    new = frame.head(6).assign(
        day=["2020-02-29", "1999-12-31", "2024-12-31T23:59:59", "2000-03-01", "1970-01-01", None],
        seen=["29.02.2020", "2020-02-29", "31.12.2100", "01.01.1900", None, "01.03.2100"],
    )
    for to in installed():
        path = tmp_path / f"m{ENDINGS[to]}"
        sx.export.write(model, path, to=to)
        spec = table_reader.load(tmp_path / "m.columns.json")
        for table in (frame, new):
            raw = table_reader.rows(spec, table)
            assert raw.shape == (len(table), 4)
            agree(run_exported(path, to, raw)[0], predicted(model)(table), to)
        assert difference(model, path, to) < 1e-6
    raw = {name: list(new[name]) for name in new}
    raw["at"] = [pd.Timestamp(0).to_pydatetime(), np.datetime64("1970-01-02"), np.datetime64("NaT")]
    raw["at"] += [pd.Timestamp("1970-01-01 02:00", tz="Europe/Berlin").date(), None, pd.NaT]
    assert table_reader.rows(spec, raw)[:4, 3].tolist()[:2] == [0.0, 86400.0]
    np.testing.assert_array_equal(np.isnan(table_reader.rows(spec, raw)[2:, 3]), [1, 0, 1, 1])
    for entry in ("soon", 3, "31.02.2020"):
        with pytest.raises(ValueError, match="'seen' should hold dates, got"):
            table_reader.rows(spec, {**frame.head(1).to_dict("list"), "seen": [entry]})


def test_the_calendar_of_exports_is_that_of_pandas():
    """Leap years, centuries, the ends of years, and times before 1970."""
    rng = np.random.default_rng(0)
    days = rng.integers(-60_000, 100_000, 300) * 86400.0
    edges = pd.to_datetime(["1900-02-28", "2000-02-29", "2100-03-01", "2023-12-31", "2024-12-31"])
    some = [days, days + rng.integers(-3, 3, 300), (edges - pd.Timestamp(0)) / pd.Timedelta("1s")]
    seconds = np.concatenate([*some, [0.0, -1.0, np.nan]])
    circles = dates.Calendar(None, list(dates.CIRCLES), 1.2e9)
    wanted = dates.encode(pd.Series(pd.to_datetime(seconds, unit="s")), circles)
    got = calendar.encoded(jax.numpy.asarray(seconds)[:, None], circles._asdict())
    np.testing.assert_allclose(got, wanted, rtol=0, atol=1e-12)


def test_the_table_stays_with_the_estimator(folder, tmp_path):
    path, _ = fitted("weather", folder)
    saving.load(path, *KINDS).save(tmp_path / "again.safetensors")
    assert sx.load_record(tmp_path / "again.safetensors")["table"] == sx.load_record(path)["table"]


def test_fewer_steps(folder, tmp_path):
    path, _ = fitted("numbers", folder)
    out = tmp_path / "m.npz"
    said = command("export", path, "--to", "numpy", "--out", out, "--steps", 3)
    assert "the difference due to 3 steps" in said
    assert 0 < float(said.split("its table:")[1].split()[0]) < 0.1


def mixed(target):
    """A synthetic table with text and missing entries."""
    frame = weather(80)
    return frame.drop(columns=target), frame[target]


TABLES = {
    "diabetes": (ShootingRegressor, lambda: datasets.load_diabetes(return_X_y=True)),
    "linnerud": (ShootingRegressor, lambda: datasets.load_linnerud(return_X_y=True)),
    "iris": (ShootingClassifier, lambda: datasets.load_iris(return_X_y=True)),
    "wine": (ShootingClassifier, lambda: datasets.load_wine(return_X_y=True)),
    "breast cancer": (ShootingClassifier, lambda: datasets.load_breast_cancer(return_X_y=True)),
    "digits": (ShootingClassifier, lambda: datasets.load_digits(return_X_y=True)),
    "mixed regression": (ShootingRegressor, lambda: mixed("rain")),
    "mixed classes": (ShootingClassifier, lambda: mixed("sky")),
}


@pytest.mark.slow
@pytest.mark.parametrize("double", [False, True], ids=["single", "double"])
@pytest.mark.parametrize("name", TABLES)
def test_six_tables_and_more_in_every_format(name, double, tmp_path):
    kind, read = TABLES[name]
    x, y = read()
    with doubles(double):
        if isinstance(x, pd.DataFrame):
            known = columns.learn(x)
            model = kind(**QUICK).fit(columns.encode(x, known)[0], y)
            model._table = {"target": "y", "columns": columns.to_json(known)}
        else:
            model = kind(**QUICK).fit(x, y)
            x = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])])
        wanted = predicted(model)(x)
        for to in installed():
            path = tmp_path / f"m{ENDINGS[to]}"
            sx.export.write(model, path, to=to)
            spec = table_reader.load(tmp_path / "m.columns.json")
            (got,) = run_exported(path, to, table_reader.rows(spec, x))
            assert got.shape == wanted.shape
            agree(got, wanted, to)
            assert difference(model, path, to) < 1e-5
    assert jax.config.read("jax_enable_x64")
