"""`shootax certify`."""

import json

import jax
import numpy as np
import pytest

import shootax as sx


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.safetensors"
    net = sx.Net(sx.Affine(2, activation="tanh"), particles=3, key=jax.random.key(0))
    sx.save(path, net)
    return path


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a,b,y\n0.5,1.0,7\n-0.3,0.2,8\n0.1,-1.5,9\n")
    return path


def test_the_table(shootax, model, table):
    code, out, err = shootax("certify", model, "--data", table, "--ignore", "y")
    assert code in (0, None), err
    for text in (
        "from norm",
        "Lipschitz constant of the flow",
        "homeomorphism: yes",
        "Rademacher",
    ):
        assert text in out
    rows = out.splitlines()[: out.splitlines().index("")]
    assert max(map(len, rows)) <= 80


def test_json_and_arrays(shootax, model, table, tmp_path):
    x = np.array([[0.5, 1.0], [-0.3, 0.2], [0.1, -1.5]])
    np.save(tmp_path / "x.npy", x)
    outputs = []
    for data in (("--data", tmp_path / "x.npy"), ("--data", table, "--ignore", "y")):
        _, out, _ = shootax("certify", model, *data, "--json")
        outputs.append(json.loads(out))
    assert outputs[0] == outputs[1]
    assert outputs[0]["holds"]
    assert outputs[0]["rademacher"]["samples"] == 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--ignore", "z"], "There is no column 'z'"),
        ([], "must have shape"),
        (["--ignore", "y", "--radius", "0.1"], "Use a larger radius"),
    ],
)
def test_mistakes(shootax, model, table, options, message):
    code, out, err = shootax("certify", model, "--data", table, *options)
    assert code not in (0, None)
    assert message in f"{code}{out}{err}"


def test_text_columns(shootax, model, tmp_path):
    path = tmp_path / "words.csv"
    path.write_text("a,b\nx,1.0\ny,2.0\n")
    code, out, err = shootax("certify", model, "--data", path)
    assert "not numeric: 'a'" in f"{code}{out}{err}"


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
def test_a_model_of_fit(shootax, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{a:.3f},{b:.3f},{a - b:.3f}" for a, b in rng.normal(size=(60, 2))]
    data, path = tmp_path / "d.csv", tmp_path / "m.safetensors"
    data.write_text("\n".join(["a,b,y", *rows]))
    code, _, err = shootax("fit", data, "--target", "y", "--out", path, "--epochs", "3")
    assert code in (0, None), err
    code, out, err = shootax("certify", path, "--data", data)
    assert code in (0, None), err
    assert "60 samples" in out
