"""Latent models of all formulations: shapes, gradients, masks, files."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import usually
from shootax.data import Sequences
from shootax.nn import _latent as module

TIMES = 0.1 * np.arange(5)
KEYS = jax.random.split(jax.random.key(0), 4)


def make(name="dynamic-particles", norm="layer"):
    field = sx.UpDown(dim=3, inflation=2)
    control = sx.formulation(name, field, particles=4, key=KEYS[0], T=0.4)
    net = sx.Net(field, control, integrator=sx.RK4(steps=4), key=KEYS[1])
    encoder = sx.nn.ImageEncoder(3, frames=2, size=9, channels=(2, 3), norm=norm, key=KEYS[2])
    decoder = sx.nn.ImageDecoder(3, size=9, channels=(3, 2), norm=norm, key=KEYS[3])
    return sx.nn.LatentModel(encoder, net, decoder, TIMES)


def frames(rows=4):
    return jax.random.uniform(jax.random.key(5), (rows, 5, 9, 9))


ALL = usually(sx.FORMULATIONS, "dynamic-particles")


@pytest.mark.parametrize("name", ALL)
def test_shapes_gradients_and_files(name, tmp_path):
    model, y = make(name), frames()

    @eqx.filter_jit
    @eqx.filter_value_and_grad(has_aux=True)
    def loss(model):
        out = model(y[:, :2])
        return jnp.mean((out - y) ** 2) + sx.penalty(model), out

    (_, out), gradient = loss(model)
    assert out.shape == y.shape
    assert 0 < out.min() < out.max() < 1
    for path, leaf in jax.tree.leaves_with_path(eqx.filter(gradient, eqx.is_array)):
        assert jnp.any(leaf != 0), jax.tree_util.keystr(path)
    sx.save(tmp_path / "model.safetensors", model)
    again = sx.load(tmp_path / "model.safetensors")
    assert jax.tree.structure(again) == jax.tree.structure(model)
    jax.tree.map(
        np.testing.assert_array_equal, *(eqx.filter(m, eqx.is_array) for m in (again, model))
    )


@pytest.mark.parametrize("norm", ["layer", "none"])
def test_decoder_with_one_more_convolution(norm, tmp_path):
    """It is the layers one after the other, all of them are trained, and it goes through a file."""
    z = jax.random.normal(KEYS[0], (4, 3))
    options = {"size": 9, "channels": (3, 2), "norm": norm, "last": 5, "activation": "softplus"}
    decoder = sx.nn.ImageDecoder(3, key=KEYS[3], **options)
    x = (z @ decoder.weight + decoder.bias[None]).reshape(4, 3, 3, 3)
    for layer, scaled, size in zip(decoder.layers, decoder.norms, (5, 9), strict=True):
        assert (scaled is None) == (norm == "none")
        x = layer(jax.nn.softplus(x))[:, :size, :size]
        x = x if scaled is None else scaled(x)
    assert x.shape == (4, 9, 9, 5)
    assert decoder.last is not None
    expected = jax.nn.sigmoid(decoder.last(jax.nn.softplus(x)))[..., 0]
    np.testing.assert_allclose(decoder(z), expected, atol=1e-12)
    gradient = eqx.filter_grad(lambda decoder: jnp.sum(decoder(z) ** 2))(decoder)
    for path, leaf in jax.tree.leaves_with_path(gradient):
        assert jnp.any(leaf != 0), jax.tree_util.keystr(path)
    sx.save(tmp_path / "decoder.safetensors", decoder)
    np.testing.assert_array_equal(sx.load(tmp_path / "decoder.safetensors")(z), decoder(z))


def test_options_of_the_decoder_change_nothing_where_they_are_not_given():
    """Files of earlier versions have neither field; the layers are drawn as they were."""
    plain, more = (
        sx.nn.ImageDecoder(3, size=9, channels=(3, 2), last=last, key=KEYS[3]) for last in (None, 5)
    )
    assert plain.last is None
    np.testing.assert_array_equal(plain.layers[0].weight, more.layers[0].weight)
    z = jax.random.normal(KEYS[0], (4, 3))
    x = jax.nn.relu(z @ plain.weight + plain.bias[None]).reshape(4, 3, 3, 3)
    x = jax.nn.relu(plain.layers[0](x)[:, :5, :5])
    expected = jax.nn.sigmoid(plain.layers[1](x)[:, :9, :9, 0])
    np.testing.assert_allclose(plain(z), expected, atol=1e-12)


def test_frames_asked_for_are_those_of_the_whole():
    model, y = make(norm="none"), frames()
    whole = model(y[:, :2])
    which = np.array([[0, 4], [1, 2], [3, 0], [2, 2]])
    some = model(sx.nn.FrameRequest(y[:, :2], which))
    expected = np.asarray(whole)[np.arange(4)[:, None], which]
    np.testing.assert_allclose(some, expected, atol=1e-12)


def test_many_frames_are_decoded_in_pieces(monkeypatch):
    model, y = make(), frames()
    whole = model(y[:, :2])
    monkeypatch.setattr(module, "CHUNK", 7)
    np.testing.assert_allclose(model(y[:, :2]), whole, atol=1e-12)


def test_times_beyond_the_depth_are_refused():
    model = make()
    with pytest.raises(ValueError, match="larger T"):
        sx.nn.LatentModel(model.encoder, model.net, model.decoder, [0.0, 0.5])


def test_masked_error_ignores_hidden_frames():
    y = np.asarray(frames(1)[0])
    prediction = jnp.asarray(y + np.array([1.0, 50.0, 2.0, 50.0, 50.0])[:, None, None])
    for mask, expected in (([1, 0, 1, 0, 0], (1 + 4) / 2), ([0, 0, 1, 0, 0], 4), ([0] * 5, 0)):
        target = sx.nn.Masked(jnp.asarray(y), jnp.asarray(mask))
        assert sx.nn.masked_squared_error(prediction, target) == pytest.approx(expected)


def test_hidden_frames():
    y = np.asarray(frames(6))
    sampler = sx.data.MaskedFrames(Sequences(y, TIMES), first=2, never=(3,), hidden=2)
    draw = eqx.filter_jit(sampler)
    draws = [draw(jax.random.key(i)) for i in range(40)]
    for asked, targets in draws:
        which = np.asarray(asked.which)
        assert which.shape == (6, 2)
        assert not (which == 3).any()
        assert (np.diff(which, axis=1) > 0).all()
        np.testing.assert_allclose(targets, y[np.arange(6)[:, None], which], rtol=1e-6)
    seen = np.stack([asked.which for asked, _ in draws])
    counts = np.bincount(seen.ravel(), minlength=5) / seen.size
    np.testing.assert_allclose(counts[[0, 1, 2, 4]], 0.25, atol=0.06)
    fixed = sx.data.MaskedFrames(Sequences(y, TIMES), first=2, never=(3,), hidden=2, redrawn=False)
    first, second = (fixed(jax.random.key(i))[0].which for i in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.usefixtures("standard_promotion")
def test_the_best_epoch_is_kept():
    """With a rate that drives the loss up again, the model returned is not that of the last epoch."""
    x = np.linspace(-1, 1, 20)[:, None]
    net = sx.Net(sx.UpDown(dim=1, inflation=2), particles=2, key=KEYS[0])
    options = {
        "epochs": 12,
        "optimizer": sx.Optimizer(0.3, schedule=sx.Constant()),
        "validation": sx.Validation((x, x**2), keep_best=True),
    }
    best = sx.fit(net, x, x**2, **options)
    error = float(jnp.mean((best.net(x) - x**2) ** 2))
    assert error == pytest.approx(best.history["validation"].min(), rel=1e-5)
    assert error < best.history["validation"][-1]
