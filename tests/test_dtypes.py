"""One rule: the model's own dtype decides, whatever the input's dtype and JAX's setting are."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, Pendulum, cast

FIELD = sx.UpDown(2, 3, activation="tanh")
NET = sx.Net(FIELD, particles=3, integrator=sx.RK4(2), readout=1, key=KEY)
CONTROLS = {
    "particles": NET.control,
    "static": sx.Static(FIELD, key=KEY),
    "piecewise": sx.Piecewise(FIELD, 2, key=KEY),
    "basis": sx.Basis(FIELD, "legendre", 2, key=KEY),
}
INPUTS = ("int8", "int32", "int64", "uint8", "bool", "float16", "float32", "float64")
X = np.array([[0, 1], [1, 1], [1, 0], [0, 0]])
TOLERANCE = {"float64": 1e-12, "float32": 1e-5, "float16": 2e-2, "bfloat16": 2e-1}


@pytest.fixture(params=[True, False], ids=["x64", "x32"])
def x64(request):
    """Both settings of JAX."""
    with jax.enable_x64(request.param):
        yield request.param


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_outputs_have_the_dtype_of_the_model(x64, dtype):
    if dtype == "float64" and not x64:
        pytest.skip("JAX is set to hold no doubles")
    truth = np.asarray(NET(X.astype(float))) if x64 else None
    model = cast(NET, dtype)
    for kind in INPUTS:
        out = model(X.astype(kind))
        assert out.dtype == dtype, kind
        device = model(jnp.asarray(X.astype(kind)))
        np.testing.assert_array_equal(np.asarray(out, float), np.asarray(device, float))
        if truth is not None:
            np.testing.assert_allclose(np.asarray(out, float), truth, atol=TOLERANCE[dtype])
    assert model(X.tolist()).dtype == dtype


@pytest.mark.parametrize("times", [[0.0, 0.5, 1.0], [0.1, 0.77], np.full((4, 1), 0.3)])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_times_follow_the_model_as_well(dtype, times):
    truth = np.asarray(NET(X, times))
    for wide in (np.asarray(times), np.asarray(times, np.float32), jnp.asarray(times)):
        out = cast(NET, dtype)(X, wide)
        assert out.dtype == dtype
        np.testing.assert_allclose(np.asarray(out, float), truth, atol=TOLERANCE[dtype])


@pytest.mark.parametrize("control", CONTROLS)
def test_every_control_in_single_precision_takes_doubles(control):
    net = sx.Net(FIELD, CONTROLS[control], integrator=sx.RK4(2), key=KEY)
    small = cast(net, "float32")
    assert small(X.astype(float)).dtype == np.float32
    np.testing.assert_allclose(small(X.astype(float)), net(X), atol=1e-5)


def test_a_tree_of_doubles_for_a_model_in_single_precision():
    net = cast(sx.Net(Pendulum(), particles=2, integrator=sx.Euler(2), key=KEY), "float32")
    out = net({"x": np.ones((4, 2)), "v": np.ones((4, 3))})
    assert {leaf.dtype for leaf in jax.tree.leaves(out)} == {np.dtype("float32")}


def test_a_flow_in_single_precision_takes_doubles():
    control = cast(CONTROLS["particles"], "float32")
    assert sx.flow(FIELD, control, np.zeros((4, 8))).dtype == np.float32


def test_without_parameters_it_is_the_default(x64):
    theta = {name: np.zeros(leaf.shape) for name, leaf in FIELD.theta.items()}
    control = sx.FunctionControl(
        FIELD, lambda t: jax.tree.map(lambda w: jnp.asarray(w, float), theta)
    )
    out = sx.flow(FIELD, control, np.zeros((4, 8), np.float32), integrator=sx.Euler(1))
    assert out.dtype == (np.float64 if x64 else np.float32)


def test_a_loaded_model_in_single_precision_trains_and_predicts_on_doubles(tmp_path):
    sx.save(tmp_path / "net.safetensors", cast(NET, "float32"))
    net = sx.load(tmp_path / "net.safetensors")
    assert net(X.astype(float)).dtype == np.float32
    with jax.numpy_dtype_promotion("standard"):
        fitted = sx.fit(net, X.astype(float), X[:, :1].astype(float), epochs=2)
    assert sx.predict(fitted.net, X.astype(float)).dtype == np.float32
    assert np.isfinite(fitted.history["objective"]).all()


def test_images_follow_the_encoder_s_dtype():
    encoder = cast(sx.nn.ImageEncoder(3, size=4, channels=(2,), key=KEY), "float32")
    assert encoder(np.ones((2, 1, 4, 4))).dtype == np.float32
    assert cast(sx.nn.MLP(2, 3, 1, key=KEY), "float32")(X).dtype == np.float32
