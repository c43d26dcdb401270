"""Layers that halve and double images are the convolutions that they stand for."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx

KEY = jax.random.key(0)
NUMBERS = ("NHWC", "HWIO", "NHWC")


def image(size, channels):
    return jax.random.normal(jax.random.key(1), (2, size, size, channels))


@pytest.mark.parametrize("size", [5, 14])
@pytest.mark.parametrize("width", [3, 5])
def test_halving_is_a_convolution_of_stride_2(size, width):
    layer, x = sx.nn.Downsample(3, 4, width, key=KEY), image(size, 3)
    padding = [(width // 2, width // 2)] * 2
    expected = jax.lax.conv_general_dilated(
        x, layer.weight, (2, 2), padding, dimension_numbers=NUMBERS
    )
    np.testing.assert_allclose(layer(x), expected, atol=1e-12)


@pytest.mark.parametrize("width", [1, 3, 5])
def test_convolution_that_keeps_the_size(width):
    layer, x = sx.nn.Convolution(3, 4, width, key=KEY), image(6, 3)
    layer = eqx.tree_at(lambda layer: layer.bias, layer, jnp.arange(4.0))
    expected = jax.lax.conv_general_dilated(
        x, layer.weight, (1, 1), "SAME", dimension_numbers=NUMBERS
    )
    np.testing.assert_allclose(layer(x), np.asarray(expected) + np.arange(4.0), atol=1e-12)


@pytest.mark.parametrize("size", [5, 6])
def test_halving_by_the_largest_of_four_pixels(size):
    """Against the window reduction of JAX; the last line and column of an odd size have no neighbour."""
    layer, x = sx.nn.Downsample(3, 4, 3, pool="max", key=KEY), image(size, 3)
    convolved = jax.lax.conv_general_dilated(
        x, layer.weight, (1, 1), "SAME", dimension_numbers=NUMBERS
    )
    ends = ((0, 0), (0, size % 2), (0, size % 2), (0, 0))
    window = (1, 2, 2, 1)
    expected = jax.lax.reduce_window(convolved, -jnp.inf, jax.lax.max, window, window, ends)
    np.testing.assert_allclose(layer(x), expected, atol=1e-12)
    gradient = jax.grad(lambda image: jnp.sum(layer(image) ** 2))(x)
    assert bool(jnp.all(jnp.isfinite(gradient)))
    with pytest.raises(ValueError, match="pool"):
        sx.nn.Downsample(3, 4, pool="mean", key=KEY)


def test_no_images_make_no_images():
    for pool in ("none", "max"):
        layer = sx.nn.Downsample(3, 4, pool=pool, key=KEY)
        assert layer(jnp.zeros((0, 5, 5, 3))).shape == (0, 3, 3, 4)
    assert sx.nn.Convolution(3, 4, key=KEY)(jnp.zeros((0, 5, 5, 3))).shape == (0, 5, 5, 4)
    assert sx.nn.Upsample(3, 4, key=KEY)(jnp.zeros((0, 5, 5, 3))).shape == (0, 10, 10, 4)


@pytest.mark.parametrize("size", [7])
def test_doubling_is_a_transposed_convolution(size):
    """The input with zeros in between, under a kernel of width 6."""
    layer, x = sx.nn.Upsample(3, 2, key=KEY), image(size, 3)
    parts = np.asarray(layer.weight).reshape(3, 3, 3, 2, 2, 2)
    kernel = np.zeros((6, 6, 3, 2))
    for i, j, p, q in np.ndindex(3, 3, 2, 2):
        kernel[2 * i + 1 - p, 2 * j + 1 - q] = parts[i, j, :, p, q]
    expected = jax.lax.conv_general_dilated(
        x, jnp.asarray(kernel), (1, 1), [(3, 3)] * 2, lhs_dilation=(2, 2), dimension_numbers=NUMBERS
    )
    np.testing.assert_allclose(layer(x), expected[:, : 2 * size, : 2 * size], atol=1e-12)


def test_biases_are_added():
    for layer in (sx.nn.Downsample(1, 2, key=KEY), sx.nn.Upsample(1, 2, key=KEY)):
        moved = jax.tree.map(lambda leaf: leaf + 1.0 if leaf.ndim == 1 else leaf, layer)
        x = image(4, 1)
        np.testing.assert_allclose(moved(x), layer(x) + 1.0, atol=1e-12)


def test_layer_norm_is_the_same_for_an_image_alone_and_in_a_batch():
    norm, x = sx.nn.LayerNorm(3), 5 * image(4, 3) + 2
    out = np.asarray(norm(x))
    np.testing.assert_allclose(out.mean(axis=(1, 2, 3)), 0, atol=1e-10)
    np.testing.assert_allclose(out.var(axis=(1, 2, 3)), 1, rtol=1e-4)
    np.testing.assert_allclose(norm(x[:1]), out[:1], atol=1e-12)


def test_even_kernels_are_refused():
    with pytest.raises(ValueError, match="odd"):
        sx.nn.Downsample(1, 1, 4, key=KEY)


@pytest.mark.parametrize("shape", [(2, 1, 32, 32), (2, 1, 28, 32), (2, 2, 28, 28), (2, 28, 28)])
def test_an_encoder_refuses_images_of_another_size(shape):
    """Images of 32×32 are as large as those of 28×28 when they are halved three times."""
    encoder = sx.nn.ImageEncoder(5, size=28, key=KEY)
    assert encoder(jnp.ones((2, 1, 28, 28))).shape == (2, 5)
    with pytest.raises(ValueError, match=r"shape \(batch, 1, 28, 28\).*got \(2, "):
        encoder(jnp.ones(shape))
