"""Names of files, of parameters and of inputs never become code."""

import importlib.util
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import shootax as sx
from cases import KEY, cast
from shootax.cli.app import app
from shootax.export import TARGETS, run_exported, write
from shootax.export._write import ENDINGS

HOSTILE = [
    'x"""\nimport os; os.mkdir("pwned")\n"""',
    'a"""+__import__("os").mkdir("pwned")+"""',
    "b'''\nimport os; os.mkdir('pwned')\n'''",
    "import os; os.mkdir('pwned')",
    "c\\",
    'd"',
    "{module} {0} {weights.__class__}",
    "e\r\nimport os; os.mkdir('pwned')\r\n",
    "class",
    "1 + 1",
    "\u2028import os",
]
CALL = "__import__('os').mkdir('pwned')"


class Named(eqx.Module):
    """Weights by names of the caller's, and an input that is a dictionary."""

    weights: dict

    def __call__(self, x):
        return sum(jnp.tanh(x[k] * w[None]) for k, w in zip(x, self.weights.values(), strict=True))


def net():
    field = sx.Affine(2, activation="tanh")
    made = sx.Net(field, sx.Static(field, key=KEY), integrator=sx.Euler(2), key=KEY)
    return cast(made, jnp.float32)


def targets():
    found = [to for to in TARGETS if to != "torch"]
    return TARGETS if importlib.util.find_spec("torch") else found


@pytest.mark.parametrize("stem", HOSTILE)
def test_names_of_files(stem, tmp_path, monkeypatch):
    """The source imports, by a Python that has a `torch` of no consequence where there is none."""
    monkeypatch.chdir(tmp_path)
    stem = stem.replace("/", "_")
    (path, *_) = write(net(), tmp_path / f"{stem}.py", to="torch")
    source = path.read_text()
    compile(source, "exported", "exec")
    (tmp_path / "copied.py").write_text(source)
    stub = "import types; sys.modules['torch'] = t = types.ModuleType('torch')\n"
    stub += "t.nn = types.SimpleNamespace(Module=object)\n"
    stub += "t.float32 = t.float64 = t.int32 = t.int64 = t.bool = 0\n"
    program = f"import sys; sys.path.insert(0, '.')\n{stub}import copied"
    subprocess.run([sys.executable, "-I", "-c", program], cwd=tmp_path, check=True, timeout=100)
    if "torch" in targets():
        x = np.ones((3, 2), np.float32)
        np.testing.assert_allclose(run_exported(path, "torch", x)[0], net()(x), rtol=1e-5)
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    "key", [*HOSTILE, CALL, "x", "v1", "c1", "program", "file", "a/b", "list_1"]
)
def test_names_of_parameters_and_inputs(key, tmp_path, monkeypatch):
    """They are kept apart, too: a weight called as an input or a result is not taken for it."""
    monkeypatch.chdir(tmp_path)
    key = key.replace(".", ",")
    names = sorted([key, f"{key}_", key.replace(",", "_").replace(" ", "_") + "__"])
    model = Named({name: jnp.linspace(1, 2, 2) * (i + 1) for i, name in enumerate(names)})
    model = cast(model, jnp.float32)
    x = {name: np.full((3, 2), 0.1 * (i + 1), np.float32) for i, name in enumerate(names)}
    wanted = model(x)
    for target in targets():
        path = tmp_path / f"net{ENDINGS[target]}"
        write(model, path, to=target, input=jax.tree.map(lambda leaf: leaf.shape[1:], x))
        (got,) = run_exported(path, target, x)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, err_msg=target)
    assert not (tmp_path / "pwned").exists()


class Bare(eqx.Module):
    """Weights with the names that a file has for other things."""

    x: jax.Array
    v1: jax.Array
    y: jax.Array
    program: jax.Array
    file: jax.Array

    def __call__(self, x):
        for weight in (self.x, self.v1, self.y, self.program, self.file):
            x = jnp.tanh(x * weight)
        return x


def test_weights_called_like_other_things(tmp_path):
    model = Bare(*(jnp.array([[0.5, 1.5 + i]], jnp.float32) for i in range(5)))
    x = np.full((3, 2), 0.3, np.float32)
    for target in targets():
        path = tmp_path / f"net{ENDINGS[target]}"
        write(model, path, to=target, input=(2,))
        (got,) = run_exported(path, target, x)
        np.testing.assert_allclose(got, model(x), rtol=1e-5, err_msg=target)


@pytest.mark.parametrize("stem", HOSTILE[:3])
def test_the_command_runs_nothing_of_a_name(stem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sx.save(tmp_path / f"{stem}.safetensors", net())
    done = CliRunner().invoke(app, ["export", f"{stem}.safetensors", "--to", "torch"])
    assert done.exit_code == 0, done.output
    assert not (tmp_path / "pwned").exists()
