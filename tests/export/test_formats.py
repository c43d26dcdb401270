"""Every format gives what the live model gives, for any batch size."""

import functools
import itertools
import json
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, Pendulum, Rotor, cast, some_theta
from shootax.export import TARGETS, run_exported, write
from shootax.export._trace import trace

FIELDS = {
    "updown": lambda: sx.UpDown(2, 3),
    "affine": lambda: sx.Affine(3, activation="gelu"),
    "no-theta3": lambda: sx.UpDown(1, 4, activation="softplus", theta3=False),
    "general": lambda: sx.GeneralUpDown(2, 2, activation="sigmoid"),
    "damped": lambda: sx.DampedUpDown(2, 2, activation="tanh"),
    "periodic": lambda: sx.Periodic(2),
    "sparse": lambda: sx.BlockSparse((2, 1), [(0, 1), (1, 0)], activation="tanh"),
    "conv": lambda: sx.ConvAffine(2, (3, 3), activation="tanh"),
    "conv-updown": lambda: sx.ConvUpDown(1, (4,), 2),
    "single-hidden-layer": lambda: sx.SingleHiddenLayer(2, 3),
    "rotor": Rotor,
    "pendulum": Pendulum,
}
ENDINGS = {"onnx": ".onnx", "torch": ".py", "stablehlo": ".stablehlo", "numpy": ".npz"}


@functools.cache
def made(field: str, formulation: str):
    """A single-precision net of few steps, 1000 samples, and the live outputs."""
    template = FIELDS[field]()
    options = {"momentum": 1.0 if field == "single-hidden-layer" else 0.3}
    options = options if "particles" in formulation else {}
    control = sx.formulation(formulation, template, particles=3, key=KEY, **options)
    net = cast(sx.Net(template, control, integrator=sx.RK4(steps=2), key=KEY), jnp.float32)
    rng = np.random.default_rng(5)
    x = jax.tree.map(
        lambda leaf: rng.normal(size=(1000, *leaf.shape[1:])).astype(np.float32), trace(net).spec
    )
    return net, x, [np.asarray(leaf) for leaf in jax.tree.leaves(net(x))]


def needs(target: str) -> None:
    if target == "torch":
        pytest.importorskip("torch")


def every_case():
    """All of them; `make test` has two of them in each format."""
    short = {("updown", "dynamic-particles"), ("pendulum", "dynamic-direct")}
    for case in itertools.product(FIELDS, sx.FORMULATIONS):
        yield pytest.param(*case, marks=() if case in short else pytest.mark.slow)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("field", "formulation"), list(every_case()))
def test_every_format_equals_the_live_model(field, formulation, target, tmp_path):
    needs(target)
    net, x, wanted = made(field, formulation)
    path = tmp_path / f"net{ENDINGS[target]}"
    assert write(net, path, to=target)[0] == path
    got = run_exported(path, target, x)
    for a, b in zip(got, wanted, strict=True):
        assert a.dtype == np.float32
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
    few = jax.tree.map(lambda leaf: leaf[:7], x)
    for a, b in zip(run_exported(path, target, few), wanted, strict=True):
        np.testing.assert_allclose(a, b[:7], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_one_row_and_a_chain_of_blocks(target, tmp_path):
    needs(target)
    field = sx.Affine(2, activation="tanh")
    blocks = [sx.Net(field, sx.Static(field, key=KEY), integrator=sx.Euler(3), key=KEY)] * 2
    chain = cast(sx.Chain(blocks[0], jnp.tanh, blocks[1]), jnp.float32)
    write(chain, path := tmp_path / f"chain{ENDINGS[target]}", to=target)
    x = np.ones((1, 2), np.float32)
    np.testing.assert_allclose(run_exported(path, target, x)[0], chain(x), rtol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("passing", [False, True], ids=["fresh", "passing"])
def test_convolutional_classifier_in_every_format(passing, tmp_path):
    """Stem, group norms, pooling, and particles that are passed on."""
    nets = tuple(
        sx.Net(field, particles=2, integrator=sx.Heun(2), key=KEY)
        for field in (sx.ConvUpDown(2, (4, 4)), sx.ConvAffine(3, (2, 2)))
    )
    model = sx.nn.resnet(nets, inputs=1, classes=3, groups=2, pass_particles=passing, key=KEY)
    model = cast(model, jnp.float32)
    x = np.random.default_rng(0).normal(size=(5, 1, 4, 4)).astype(np.float32)
    for target in TARGETS:
        if target != "torch" or "torch" in sys.modules:
            path = tmp_path / f"net{ENDINGS[target]}"
            write(model, path, to=target, input=(1, 4, 4))
            got = run_exported(path, target, x)[0]
            np.testing.assert_allclose(got, model(x), rtol=1e-5, atol=1e-5)


def test_particles_kept_by_baking_serve_any_batch(tmp_path):
    net, x, expected = made("updown", "dynamic-particles")
    write(sx.bake(net, form="kernel"), tmp_path / "net.npz", to="numpy")
    for rows in (1, 7, 1000):
        (found,) = run_exported(tmp_path / "net.npz", "numpy", x[:rows])
        np.testing.assert_allclose(found, expected[0][:rows], atol=1e-5)


def test_double_precision_stays_double(tmp_path):
    field = sx.Affine(2, activation="tanh")
    net = sx.Net(field, sx.Static(field, key=KEY), integrator=sx.RK4(2), key=KEY)
    x = np.random.default_rng(0).normal(size=(5, 2))
    for target in TARGETS:
        if target != "torch" or "torch" in sys.modules:
            path = tmp_path / f"net{ENDINGS[target]}"
            write(net, path, to=target)
            (got,) = run_exported(path, target, x)
            assert got.dtype == np.float64
            # onnxruntime's own tanh of double precision is good to eight digits
            np.testing.assert_allclose(got, net(x), rtol=1e-7 if target == "onnx" else 1e-13)


def outside(tmp_path, program: str) -> dict:
    """Runs a program in the folder of the exported files, where this library cannot be found."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; sys.path.insert(0, '.')\n" + program],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


REPORT = """
import json
print(json.dumps({"y": y.tolist(), "loaded": [m for m in ("jax", "shootax", "numpy", "torch",
    "safetensors") if m in sys.modules]}))
"""


def test_numpy_files_need_numpy_alone(tmp_path):
    net, x, (wanted,) = made("updown", "dynamic-particles")
    write(net, tmp_path / "net.npz", to="numpy")
    np.save(tmp_path / "x.npy", x[:9])
    found = outside(
        tmp_path,
        "import numpy as np\nfrom net import load\ny = load('net.npz')(np.load('x.npy'))" + REPORT,
    )
    assert found["loaded"] == ["numpy"]
    np.testing.assert_allclose(found["y"], wanted[:9], rtol=1e-5, atol=1e-5)
    code = (tmp_path / "net.py").read_text().splitlines()
    assert len([line for line in code if line.strip()]) <= 250


def test_torch_files_need_torch_alone(tmp_path):
    pytest.importorskip("torch")
    net, x, (wanted,) = made("updown", "dynamic-particles")
    write(net, tmp_path / "plain.py", to="torch")
    program = f"import torch\nfrom plain import load\nx = torch.tensor({x[:3].tolist()})\n"
    found = outside(tmp_path, program + "y = load('plain.safetensors')(x).detach()" + REPORT)
    assert not {"jax", "shootax", "safetensors"} & set(found["loaded"])
    np.testing.assert_allclose(found["y"], wanted[:3], rtol=1e-5, atol=1e-5)


def test_onnx_has_an_open_batch_size_and_no_particles(tmp_path):
    onnx = pytest.importorskip("onnx")
    net, _, _ = made("updown", "dynamic-particles")
    write(net, tmp_path / "net.onnx", to="onnx")
    model = onnx.load(tmp_path / "net.onnx")
    (given,) = model.graph.input
    assert [d.dim_param or d.dim_value for d in given.type.tensor_type.shape.dim] == ["batch", 2]
    products = [node for node in model.graph.node if node.op_type == "MatMul"]
    assert len(products) == 1 + 2 * 4, "the lift, and one for each stage of each step"
    weights = {entry.name for entry in model.graph.initializer if entry.name.startswith("control")}
    assert len(weights) == 2 * 4


def test_weights_keep_their_names_and_some_theta_matters(tmp_path):
    """The state dict is the tree of the baked model, and the file's output follows it."""
    torch = pytest.importorskip("torch")
    field = sx.Affine(2, activation="tanh")
    control = sx.Static(field, key=KEY)
    net = cast(sx.Net(field, control, integrator=sx.Euler(2), key=KEY), jnp.float32)
    write(net, tmp_path / "net.py", to="torch")
    sys.path.insert(0, str(tmp_path))
    try:
        import net as written
    finally:
        sys.path.remove(str(tmp_path))
        sys.modules.pop("net", None)
    model = written.load(tmp_path / "net.safetensors")
    assert set(dict(model.named_parameters())) == {"control.theta.A", "control.theta.b"}
    other = cast(some_theta(field), jnp.float32)
    with torch.no_grad():
        for name, value in other.items():
            model.get_parameter(f"control.theta.{name}").copy_(torch.tensor(np.asarray(value)))
    changed = sx.Static(field, key=KEY)
    object.__setattr__(changed, "theta", other)
    x = np.ones((4, 2), np.float32)
    wanted = sx.flow(field, changed, x, integrator=sx.Euler(2))
    np.testing.assert_allclose(model(torch.tensor(x)).detach().numpy(), wanted, rtol=1e-5)
