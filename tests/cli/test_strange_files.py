"""Files of a model or of data that are damaged or strange: each command has a message of its own."""

import io
import os
import zipfile

import jax
import numpy as np
import pytest

import shootax as sx

pytestmark = pytest.mark.usefixtures("standard_promotion")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a small net."""
    monkeypatch.chdir(tmp_path)
    sx.save("net", net())
    return tmp_path


def net():
    return sx.Net(sx.UpDown(1, 1), particles=1, integrator=sx.Euler(1), key=jax.random.key(0))


def claimed():
    """An archive with an array that claims 800 GB."""
    header, file = io.BytesIO(), io.BytesIO()
    shape = {"descr": "<f8", "fortran_order": False, "shape": (10**11,)}
    np.lib.format.write_array_header_1_0(header, shape)
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x.npy", header.getvalue() + bytes(800))
    return file.getvalue()


def spoiled():
    whole = io.BytesIO()
    np.savez(whole, x=np.ones((3, 1)))
    data = whole.getvalue()
    return [
        b"",
        b"nonsense",
        data[: len(data) // 2],
        data.replace(b"\xf0\x3f", b"\xf0\x3e"),
        claimed(),
    ]


def test_arrays_for_a_report(shootax, here):
    pytest.importorskip("plotly")
    for data in spoiled():
        (here / "d.npz").write_bytes(data)
        message = shootax("report", "net", "--data", "d.npz")[0]
        assert "d.npz cannot be read as arrays of numbers" in message
    x = np.ones((3, 1))
    for arrays, words in (
        ({"x": np.array([["a"]])}, "x must hold numbers"),
        ({"x": np.float64(3)}, "x must have samples along its first axis"),
        ({"x": x * np.nan}, "must be finite"),
        ({"x": np.full((3, 1), np.inf)}, "must be finite"),
        ({"x": x, "y": x, "times": np.array(["a"])}, "times must hold numbers"),
        ({"x": x, "y": x, "times": np.ones((3, 5))}, "with 5 times, got (3, 1)"),
    ):
        np.savez("d.npz", **arrays)
        assert words in shootax("report", "net", "--data", "d.npz")[0]
    assert not (here / "report.html").exists()


def test_an_array_to_certify(shootax, here):
    for data in (b"", b"nonsense", claimed()):
        (here / "d.npy").write_bytes(data)
        message = shootax("certify", "net", "--data", "d.npy")[0]
        assert "d.npy cannot be read as an array of numbers" in message


@pytest.mark.parametrize(
    "record",
    [
        {"estimator": {}},
        {"estimator": 3},
        {"estimator": {"kind": []}},
        {"estimator": {"format": 1, "kind": "ShootingRegressor"}},
        {"table": 3},
    ],
    ids=str,
)
def test_records_that_no_estimator_wrote(shootax, here, record):
    sx.save("net", net(), record=record)
    assert "has a record of an estimator that cannot be read" in shootax("info", "net")[0]
    if "estimator" in record:
        assert "compress takes a single Net" in shootax("compress", "net")[0]


def test_a_history_of_anything(shootax, here):
    pytest.importorskip("plotly")
    sx.save("net", net(), record={"history": {"objective": "abc", "data": {"b": 1}, "<b>": [1, 2]}})
    assert shootax("report", "net")[0] == 0
    assert '"training":{"\\u003cb\\u003e":[1.0,2.0]}' in (here / "report.html").read_text("utf-8")
    with pytest.raises(ValueError, match="columns of numbers, but 'objective' is not one"):
        sx.report.write(net(), "report.html", history={"objective": "abc"})


def test_a_model_that_is_replaced_while_it_is_read(here, monkeypatch):
    """The scaling of one estimator and the net of another would make wrong numbers."""
    from shootax.sklearn import ShootingRegressor, load_estimator

    x = np.linspace(-1, 1, 20)[:, None]
    small = {"particles": 1, "width": 2, "depth": 1, "max_iter": 1}
    for name, scale in (("a", 1.0), ("b", 100.0)):
        ShootingRegressor(**small).fit(x, scale * x[:, 0]).save(name)
    load = sx.load

    def slow(path, **options):
        os.replace("b", path)
        return load(path, **options)

    monkeypatch.setattr(sx, "load", slow)
    with pytest.raises(sx.FileFormatError, match="was replaced while it was read"):
        load_estimator("a")


def test_points_of_a_flow_that_are_not_finite():
    with pytest.raises(ValueError, match="x must be finite"):
        sx.theory.approximate_flow(lambda t, x: x, np.array([[np.nan]]))
