"""A quick check of an installed shootax: `python smoke.py [cli] [export] [plots] [sklearn] [tables]`.

It runs outside of the repository and uses public names only. The extras to check are named on the command
line; the core is always checked.
"""

import pathlib
import subprocess
import sys
import tempfile

import jax
import numpy as np

import shootax as sx


def core(folder: pathlib.Path) -> sx.Net:
    """Train, save, load and bake a small net."""
    x = np.linspace(-1, 1, 40)[:, None]
    net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
    net = sx.fit(net, x, x**2, epochs=3, batch_size=20, progress=False).net
    sx.save(folder / "net.safetensors", net)
    loaded = sx.load(folder / "net.safetensors")
    np.testing.assert_array_equal(net(x), loaded(x))
    np.testing.assert_allclose(net(x), sx.bake(net)(x), rtol=1e-4, atol=1e-5)

    field = sx.FunctionField(
        lambda z, theta: jax.numpy.tanh(theta["A"] @ z),
        state=sx.shape(2),
        theta={"A": sx.shape(2, 2)},
    )
    adaptive = sx.Net(field, particles=3, integrator=sx.Tsit5(), key=jax.random.key(1))
    assert np.isfinite(adaptive(np.ones((4, 2)))).all()
    sx.export.write(net, folder / "net.npz", to="numpy")
    assert (folder / "net.npz").exists()
    return net


CACHED = """
import jax, numpy as np, shootax as sx
sx.use_compilation_cache("cache")
x = np.linspace(-1, 1, 40)[:, None]
net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
net = sx.fit(net, x, x**2, epochs=3, batch_size=20, progress=False).net
print(np.asarray(net(x)).tobytes().hex())
"""


def cached(folder: pathlib.Path) -> None:
    """Train in two processes, of which the second takes its programs from the compilation cache."""
    command = [sys.executable, "-c", CACHED]
    first, second = (
        subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    )
    assert any((folder / "cache").iterdir()), "the compilation cache is empty"
    assert first == second, "a program from the compilation cache gives different numbers"


def export(net: sx.Net, folder: pathlib.Path) -> None:
    """Write an ONNX file and run it."""
    import onnxruntime

    sx.export.write(net, folder / "net.onnx", to="onnx")
    session = onnxruntime.InferenceSession(folder / "net.onnx")
    x = np.linspace(-1, 1, 7, dtype=np.float32)[:, None]
    (out,) = session.run(None, {session.get_inputs()[0].name: x})
    np.testing.assert_allclose(np.asarray(out), net(x), rtol=1e-4, atol=1e-5)


def sklearn() -> None:
    """Fit an estimator, and one inside a pipeline of scikit-learn."""
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from shootax.sklearn import ShootingClassifier, ShootingRegressor

    x = np.random.default_rng(0).normal(size=(60, 3))
    model = make_pipeline(StandardScaler(), ShootingRegressor(max_iter=3)).fit(x, x[:, 0])
    assert model.predict(x).shape == (60,)
    labels = np.where(x[:, 0] > 0, "up", "down")
    assert set(ShootingClassifier(max_iter=3).fit(x, labels).predict(x)) <= {"up", "down"}


def plots(net: sx.Net, folder: pathlib.Path) -> None:
    """Draw a figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots()
    x = np.linspace(-1, 1, 7)
    axes.plot(x, net(x[:, None])[:, 0])
    assert sx.plots.save_figure(figure, folder, "figure")


def cli(*arguments: str, folder: pathlib.Path) -> str:
    """Run the command `shootax` that belongs to this Python."""
    command = [sys.executable, "-c", "from shootax.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, f"shootax {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


def tables(folder: pathlib.Path) -> None:
    """Fit a Parquet table and predict from it on the command line."""
    import pandas

    x = np.random.default_rng(0).normal(size=(60, 2))
    table = pandas.DataFrame({"a": x[:, 0], "b": x[:, 1], "y": x[:, 0] - x[:, 1]})
    table.to_parquet(folder / "table.parquet")
    options = ["--target", "y", "--out", "table.safetensors", "--epochs", "3"]
    cli("fit", "table.parquet", *options, folder=folder)
    assert cli("predict", "table.safetensors", "table.parquet", folder=folder)


def main(extras: list[str]) -> None:
    """Check the core and the given extras."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        net = core(folder)
        cached(folder)
        if "export" in extras:
            export(net, folder)
        if "sklearn" in extras:
            sklearn()
        if "plots" in extras:
            plots(net, folder)
        if "cli" in extras:
            assert "demo" in cli("--help", folder=folder)
            assert "UpDown" in cli("info", "net.safetensors", folder=folder)
        if "tables" in extras:
            tables(folder)
    where = pathlib.Path(sx.__file__).parent
    print(f"shootax {sx.__version__} in {where} works: {', '.join(['core', *extras])}")


if __name__ == "__main__":
    main(sys.argv[1:])
