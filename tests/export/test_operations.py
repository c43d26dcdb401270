"""Every operation that can be exported does the same in every format; the others are named."""

import pathlib
from importlib.util import find_spec

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

import shootax as sx
from cases import KEY, cast
from shootax.cli.app import app
from shootax.export import TARGETS, run_exported, write

ENDINGS = {"onnx": ".onnx", "torch": ".py", "stablehlo": ".stablehlo", "numpy": ".npz"}

FUNCTIONS = {
    "smooth": lambda x: jnp.concatenate(
        [jnp.sin(x), jnp.expm1(x), jnp.log1p(x**2), jax.nn.gelu(x), jax.nn.silu(x), x**-2], axis=1
    ),
    "kinks": lambda x: jnp.concatenate(
        [jnp.abs(x), jnp.clip(x, -0.5, 0.5), jnp.sign(x), jnp.floor(x), jnp.round(3 * x)], axis=1
    ),
    "powers": lambda x: jnp.sqrt(x**2 + 1) ** 1.5 + jnp.cbrt(x) + jnp.exp2(x) + 1 / jnp.sqrt(1 + x**2),
    "softmax": lambda x: jax.nn.softmax(x, axis=1) * jax.nn.log_softmax(x, axis=1),
    "sums": lambda x: jnp.stack([x.sum(1), x.max(1), x.min(1), x.prod(1), x.var(1)], axis=1),
    "shapes": lambda x: jnp.pad(x.reshape(-1, 2, 2)[:, ::-1].swapaxes(1, 2), [(0, 0), (1, 0), (0, 2)]),
    "choice": lambda x: jnp.where((x > 0) & jnp.isfinite(x) | (x < -1), x, 7.0 * x[:, :1]),
    "argmax": lambda x: jnp.argmax(x, axis=1),
    "products": lambda x: jnp.einsum("ni,nj,jk->nik", x, x, jnp.arange(8.0, dtype=x.dtype).reshape(4, 2)),
    "rounds": lambda x: jax.lax.scan(
        lambda c, k: (c + jnp.sin(c) * k.astype(c.dtype), c[:, 0]), x, jnp.arange(3)
    )[1].T,
    "tables": lambda x: jax.lax.scan(
        lambda c, row: (jnp.tanh(c * row), None), x, jnp.linspace(0, 1, 12, dtype=x.dtype).reshape(3, 4)
    )[0],
    "convolution": lambda x: jax.lax.conv_general_dilated(
        x.reshape(-1, 2, 2), jnp.linspace(-1, 1, 4, dtype=x.dtype).reshape(2, 1, 2), (1,), [(1, 2)],
        rhs_dilation=(2,), feature_group_count=2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_operations(name, tmp_path):
    model = sx.Chain(FUNCTIONS[name])
    x = np.random.default_rng(3).normal(size=(6, 4))
    with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):
        wanted = model(x)
        for target in TARGETS:
            if target == "torch" and not find_spec("torch"):
                continue
            path = tmp_path / f"net{ENDINGS[target]}"
            write(model, path, to=target, input=(4,))
            (got,) = run_exported(path, target, x)
            np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-7, err_msg=target)


def net(**options):
    field = sx.Affine(2, activation="tanh")
    made = sx.Net(
        field, sx.Static(field, key=KEY), key=KEY, **{"integrator": sx.Euler(2), **options}
    )
    return cast(made, jnp.float32)


def test_what_cannot_be_exported_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"'while'.*bake\(net, integrator=RK4"):
        write(net(integrator=sx.ImplicitMidpoint(2)), tmp_path / "net.onnx", to="onnx")
    with pytest.raises(ValueError, match="'sort'"):
        write(sx.Chain(lambda x: jnp.sort(x, axis=1)), tmp_path / "a.npz", to="numpy", input=(2,))
    with pytest.raises(ValueError, match="Tsit5 has no fixed stages"):
        write(net(integrator=sx.Tsit5()), tmp_path / "net.onnx", to="onnx")
    with pytest.raises(ValueError, match="Give the shape of one sample"):
        write(sx.Chain(jnp.tanh), tmp_path / "net.onnx", to="onnx")
    with pytest.raises(ValueError, match="format"):
        write(net(), tmp_path / "net.tflite", to="tflite")  # pyright: ignore
    assert not list(tmp_path.iterdir())


def test_an_old_file_is_kept_when_an_export_fails(tmp_path):
    path = tmp_path / "net.npz"
    path.write_text("precious")
    with pytest.raises(ValueError, match="sort"):
        write(sx.Chain(lambda x: jnp.sort(x, axis=1)), path, to="numpy", input=(2,))
    assert path.read_text() == "precious"
    assert [entry.name for entry in tmp_path.iterdir()] == ["net.npz"]


def command(*arguments):
    return CliRunner().invoke(app, [str(a) for a in arguments])


def test_command_export(tmp_path):
    saved, out = tmp_path / "net.safetensors", tmp_path / "out.onnx"
    sx.save(saved, net(integrator=sx.RK4(4)))
    done = command("export", saved, "--to", "onnx", "--out", out, "--steps", "2")
    assert done.exit_code == 0, done.output
    assert "Largest difference" in done.output
    assert "due to 2 steps instead of the model's own" in done.output
    assert out.stat().st_size > 100
    assert command("export", saved, "--to", "numpy").exit_code == 0
    assert (tmp_path / "net_numpy.npz").exists()
    assert (tmp_path / "net_numpy.py").exists()


def test_command_export_refuses(tmp_path):
    saved = tmp_path / "net.safetensors"
    sx.save(saved, net())
    before = saved.read_bytes()
    done = command("export", saved, "--to", "torch", "--out", tmp_path / "net.py")
    assert "would overwrite" in str(done.exception)
    assert saved.read_bytes() == before
    assert "--input takes sizes" in str(
        command("export", saved, "--to", "onnx", "--input", "3xy").exception
    )
    assert "no model file" in str(command("export", tmp_path / "none", "--to", "onnx").exception)
    assert "format" in str(command("export", saved, "--to", "tflite").exception)


def test_command_compress(tmp_path):
    saved, out = tmp_path / "net.safetensors", tmp_path / "few.safetensors"
    sx.save(saved, net())
    options = ("--particles", "2", "--starts", "1", "--iterations", "60")
    with jax.numpy_dtype_promotion("standard"):
        done = command("compress", saved, "--out", out, *options)
        again = command("compress", saved, "--out", saved, *options)
    assert done.exit_code == 0, done.output
    assert "relative error" in done.output
    found = sx.load(out)
    assert found.control.ensemble.particles == 2
    (point,) = sx.load_record(out)["curve"]
    assert point["particles"] == 2
    assert point["error"] >= point["bound"] - 1e-6
    assert "would overwrite" in str(again.exception)
    assert pathlib.Path(saved).exists()
