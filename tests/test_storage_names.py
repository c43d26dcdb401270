"""Names in files outlive the code, and what the library and its neighbours offer can be stored."""

import contextlib
import json
import pathlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import shootax as sx
from cases import KEY, Wave, assert_close, assert_same, make_net, usually
from shootax._storage import container, registry
from shootax._storage.format1 import FORMAT_1

FILES = pathlib.Path(__file__).parent / "files"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def round_trip(model, path, known=()):
    sx.save(path, model)
    return sx.load(path, known=known)


def description(path):
    return container.read(path).header["model"]


# ---- Names ---------------------------------------------------------------------------------------


def test_every_public_module_has_a_lasting_name():
    """A class that is added to the library is added to the registry, or its nets cannot be stored."""
    public = [c for c in vars(sx).values() if isinstance(c, type) and issubclass(c, eqx.Module)]
    concrete = [c for c in public if not c.__name__.startswith("Abstract")]
    missing = [c.__name__ for c in concrete if registry.name_of(c) is None]
    assert not missing
    assert len(set(registry.classes().values())) == len(registry.classes())


def test_every_name_of_the_first_format_leads_somewhere():
    assert set(FORMAT_1.values()) <= registry.classes().keys()
    assert FORMAT_1["shootax.latent.layers.Halve"] == "nn.Downsample"
    assert FORMAT_1["equinox.nn._linear.Linear"] == "equinox.nn.Linear"


@contextlib.contextmanager
def moved(cls, module, name):
    """A class that is in another place and called by another name for a while."""
    old = cls.__module__, cls.__qualname__
    cls.__module__, cls.__qualname__ = module, name
    try:
        yield
    finally:
        cls.__module__, cls.__qualname__ = old


@pytest.mark.parametrize("cls", [sx.Net, sx.UpDown, sx.Particles])
def test_files_do_not_know_where_classes_are(path, cls):
    net = make_net("updown", "particles")
    sx.save(path, net)
    assert "shootax" not in description(path)
    old = FILES / "format1-particles.safetensors"
    before = sx.load(old)
    with moved(cls, "shootax.elsewhere", "Other"):
        assert_same(net, sx.load(path))
        assert_same(before, sx.load(old))


class Before(eqx.Module):
    weights: jax.Array
    name: str


class After(eqx.Module):
    strengths: jax.Array
    name: str
    order: int
    steps: int = 7
    tags: list = eqx.field(default_factory=list)


class Shrunk(eqx.Module):
    weights: jax.Array


@pytest.fixture
def fresh(monkeypatch):
    """A registry of this test's own."""
    for table in ("_registered", "FIELD_DEFAULTS", "RENAMED_FIELDS"):
        monkeypatch.setattr(registry, table, dict(getattr(registry, table)))


@pytest.mark.usefixtures("fresh")
def test_a_class_may_change_its_name_and_its_fields(path):
    sx.register("my.Thing")(Before)
    sx.save(path, [Before(jnp.arange(3.0), "a")])
    assert '"my.Thing"' in description(path)
    del registry._registered["my.Thing"]
    sx.register("my.Thing", defaults={"order": 2}, renamed={"weights": "strengths"})(After)
    (loaded,) = sx.load(path)
    assert type(loaded) is After
    assert (loaded.name, loaded.order, loaded.steps, loaded.tags) == ("a", 2, 7, [])
    np.testing.assert_array_equal(loaded.strengths, jnp.arange(3.0))
    assert_same(round_trip(loaded, path), loaded)


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (Shrunk, {}, r"my\.Thing has the field 'name', which this version .* fields are weights"),
        (After, {"defaults": {"order": 1}}, r"has the field 'weights', which this version"),
        (After, {"renamed": {"weights": "strengths"}}, r"lacks the field 'order', .* no default"),
    ],
)
def test_fields_that_do_not_fit(path, cls, options, message):
    sx.register("my.Thing")(Before)
    sx.save(path, Before(jnp.arange(3.0), "a"))
    del registry._registered["my.Thing"]
    sx.register("my.Thing", **options)(cls)
    with pytest.raises(sx.FileFormatError, match=message):
        sx.load(path)


@pytest.mark.usefixtures("fresh")
def test_a_class_registered_after_it_was_stored(path):
    sx.save(path, Shrunk(jnp.zeros(2)))
    with pytest.raises(sx.FileFormatError, match=r"known=\[Shrunk\]"):
        sx.load(path)
    assert type(sx.load(path, known=[Shrunk])) is Shrunk
    sx.register("my.Shrunk")(Shrunk)
    assert type(sx.load(path)) is Shrunk


@pytest.mark.usefixtures("fresh")
def test_names_that_cannot_be_registered():
    with pytest.raises(ValueError, match="must contain a dot"):
        sx.register("Thing")
    with pytest.raises(ValueError, match=r"already registered for shootax.*Downsample"):
        sx.register("nn.Downsample")(Shrunk)
    with pytest.raises(TypeError, match="register is for classes"):
        sx.register("my.Thing")(jnp.zeros(2))  # pyright: ignore


def test_own_classes_called_like_those_of_the_library(path):
    """A user's `nn.MLP` is not this library's."""
    with moved(Shrunk, "nn", "MLP"):
        assert type(round_trip(Shrunk(jnp.zeros(2)), path, [Shrunk])) is Shrunk
    with pytest.raises(sx.FileFormatError, match=r"needs nn\.MLP"):
        sx.load(path)


# ---- What can be stored --------------------------------------------------------------------------


def test_arrays_never_share_a_name(path):
    model = {"a.b": jnp.zeros(1), "a": {"b": jnp.ones(1), "b~2": jnp.ones(2)}, "a.b~2": jnp.ones(3)}
    assert_same(model, round_trip(model, path))
    model = {"__metadata__": jnp.ones(1), "\x1f\ud800": jnp.zeros(1), "": jnp.zeros(2)}
    assert_same(model, round_trip(model, path))
    assert len(safetensors.numpy.load_file(path)) == 3


LAYERS = {
    "mlp": lambda: eqx.nn.MLP(2, 2, 3, 1, key=KEY),
    "mlp-gelu": lambda: eqx.nn.MLP(2, 2, 3, 1, jax.nn.gelu, jnp.tanh, key=KEY),
    "mlp-prelu": lambda: eqx.nn.MLP(2, 2, 3, 1, eqx.nn.PReLU(), key=KEY),
    "sequential": lambda: eqx.nn.Sequential(
        [eqx.nn.Linear(2, 3, key=KEY), eqx.nn.Lambda(jax.nn.silu), eqx.nn.LayerNorm(3)]
    ),
    "conv": lambda: eqx.nn.Conv2d(1, 2, 3, key=KEY),
    "transposed": lambda: eqx.nn.ConvTranspose1d(1, 2, 3, key=KEY),
    "pool": lambda: eqx.nn.MaxPool2d(2),
    "average": lambda: eqx.nn.AvgPool1d(2),
    "adaptive": lambda: eqx.nn.AdaptiveAvgPool1d(2),
    "norms": lambda: [eqx.nn.GroupNorm(2, 4), eqx.nn.RMSNorm(3)],
    "cells": lambda: [eqx.nn.GRUCell(2, 3, key=KEY), eqx.nn.LSTMCell(2, 3, key=KEY)],
    "attention": lambda: eqx.nn.MultiheadAttention(1, 2, key=KEY),
    "embedding": lambda: [eqx.nn.Embedding(3, 2, key=KEY), eqx.nn.Dropout(0.3)],
}


@pytest.mark.parametrize("name", usually(LAYERS, "mlp", "mlp-gelu", "sequential", "conv", "pool"))
def test_layers_of_equinox_come_back_without_being_handed_over(name, path):
    layer = LAYERS[name]()
    loaded = round_trip(layer, path)
    assert_same(layer, loaded)
    assert "_" not in "".join(n for n in description(path).split('"') if n.startswith("equinox"))
    if name.startswith(("mlp", "sequential")):
        x = jnp.array([0.3, -0.7])
        assert_same(layer(x), loaded(x))


@pytest.mark.parametrize("name", registry.FUNCTIONS)
def test_functions_of_jax_come_back(name, path):
    function = registry.FUNCTIONS[name]
    assert round_trip([function], path) == [function]


def test_a_net_with_an_activation_of_jax(path):
    net = sx.Net(sx.Affine(2, activation=jax.nn.silu), particles=2, key=KEY)
    assert_same(net, round_trip(net, path))


@pytest.mark.parametrize(
    "dtype",
    ["bfloat16", "float16", "float32", "float64", "int8", "uint32", "int64", "bool", "complex64"],
)
def test_the_dtype_of_the_file_decides(dtype, path):
    model = [jnp.array([0, 1, 1], dtype), jnp.zeros((0, 2), dtype), jnp.ones((), dtype)]
    assert_same(model, round_trip(model, path))


def test_a_dtype_that_no_file_can_hold(path):
    with pytest.raises(sx.FileFormatError, match="at a has dtype complex128, which cannot be"):
        sx.save(path, {"a": jnp.ones(2, jnp.complex128)})
    assert not path.exists()


def test_arrays_of_numpy_stay_such(path):
    """Otherwise constants would be trained after loading."""
    model = [np.arange(4.0), np.float32(3), np.asfortranarray(np.arange(6.0).reshape(2, 3))]
    model += [np.arange(3, dtype=">f8")]
    loaded = round_trip(model, path)
    for before, after in zip(model, loaded, strict=True):
        assert type(before) is type(after)
        assert before.dtype == after.dtype.newbyteorder(before.dtype.byteorder)
        np.testing.assert_array_equal(before, after)
    loaded[0][0] = 1  # they can be written to


def test_other_parts_of_models_come_back(path):
    request = sx.nn.FrameRequest(jnp.ones((1, 2)), jnp.zeros((1, 1), int))
    model = {1: request, None: float("inf"), 2.5: -float("inf"), "key": jax.random.key(3)}
    loaded = round_trip(model, path)
    assert list(loaded) == list(model)
    assert type(loaded[1]) is sx.nn.FrameRequest
    assert jax.random.uniform(loaded["key"]) == jax.random.uniform(model["key"])
    assert (loaded[None], loaded[2.5]) == (float("inf"), -float("inf"))
    assert np.isnan(round_trip(float("nan"), path))


def test_what_no_file_can_hold(path):
    deep = []
    for _ in range(3000):
        deep = [deep]
    for model in ({(1, 2): 3}, deep, {1, 2}, lambda x: x, jnp.zeros(2).sum, object()):
        with pytest.raises(sx.FileFormatError, match=r"cannot be written|too deeply"):
            sx.save(path, model)
    assert not path.exists()


def swirl(z, theta):
    return theta["turn"] * jnp.stack([-z[1], z[0]])


def test_fields_of_functions_come_back(path):
    field = sx.FunctionField(swirl, state=sx.shape(2), theta={"turn": sx.shape()})
    net = sx.Net(field, sx.Static(field, key=KEY), key=KEY)
    loaded = round_trip(net, path, [swirl])
    assert loaded.field == field
    assert_same(net, loaded)


# ---- Files of earlier formats --------------------------------------------------------------------

NETS = [p.stem for p in sorted(FILES.glob("format1-*.json"))]
NETS = [name for name in NETS if not name.endswith(("regressor", "classifier"))]
NETS += ["format1-image-classifier"]


QUICK = ("format1-particles", "format1-matrix-penalty")


@pytest.mark.parametrize("name", usually(NETS, *QUICK))
def test_files_of_the_first_format_give_their_recorded_outputs(name, path):
    want = json.loads((FILES / f"{name}.json").read_text())
    model = sx.load(FILES / f"{name}.safetensors")
    x = jnp.asarray(want["input"], want["dtype"])
    y, penalty = eqx.filter_jit(lambda model: (model(x), sx.penalty(model)))(model)
    tolerance = 1e-5 if want["dtype"] == "float32" else 1e-9
    assert y.dtype == want["dtype"]
    assert_close(np.asarray(y), np.asarray(want["output"]), tolerance, tolerance)
    np.testing.assert_allclose(penalty, want["penalty"], rtol=tolerance)
    record = sx.load_record(FILES / f"{name}.safetensors")
    assert record == {"version": "0.1.0", "checksum": None, "note": "written with format 1"}
    assert_same(model, round_trip(model, path))  # and goes on in the present one


def test_one_object_of_every_class_of_the_first_format(path):
    every = sx.load(FILES / "format1-every-class.safetensors")
    seen = {type(item) for item in every}
    names = {name for name in FORMAT_1.values() if not name.startswith("equinox")}
    unseen = {name for name in names if registry.classes()[name] not in seen}
    inside = {"Net", "nn.ImageEncoder", "nn.ImageDecoder", "nn.ParticleChain", "nn.Transition"}
    assert unseen <= inside | {"FunctionField"}  # which could not be stored
    assert_same(every, round_trip(every, path))


def test_functions_of_users_in_files_of_the_first_format(path):
    model = {"module": "shootax.readouts.TakeX", "fields": {"dim": 2}}
    tree = {"list": [model, {"known": "cases.Wave"}, {"known": "jax._src.nn.functions.relu"}]}
    header = {"program": "shootax", "format": "1", "version": "0.1.0", "record": "{}"}
    container.write(path, {**header, "model": json.dumps(tree)}, {})
    readout, wave, relu = sx.load(path, known=[Wave])
    assert (readout.dim, wave, relu) == (2, Wave, jax.nn.relu)
