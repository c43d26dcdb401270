"""A convolution as one product against JAX's own, with its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shootax._fields.convolve import (
    convolve,
    filter_gradient,
    filter_product,
    product_filters,
)

CASES = [
    ((5,), (3,), 2, 3),
    ((4, 6), (3, 3), 2, 3),
    ((5, 3), (2, 4), 2, 3),
    ((2, 2), (5, 5), 2, 3),
    ((3, 4, 2), (3, 3, 3), 2, 3),
    ((4, 5), (3, 2), 1, 9),  # few inputs for their outputs: patches
    ((3, 4, 2), (3, 2, 3), 1, 20),
]


def drawn(space, window, inputs, outputs):
    rng = np.random.default_rng(0)
    images = rng.normal(size=(2, *space, inputs))
    return jnp.asarray(images), jnp.asarray(rng.normal(size=(outputs, inputs, *window)))


def plain(images, filters):
    """Channels first, padded so that the pixel itself stands at place `window // 2`."""
    window = filters.shape[2:]
    padding = [(k // 2, k - 1 - k // 2) for k in window]
    moved = jax.lax.conv_general_dilated(
        jnp.moveaxis(images, -1, 1), filters, (1,) * len(window), padding
    )
    return jnp.moveaxis(moved, 1, -1)


@pytest.mark.parametrize(("space", "window", "inputs", "outputs"), CASES)
def test_values_and_derivatives(space, window, inputs, outputs):
    images, filters = drawn(space, window, inputs, outputs)

    def ours(images, filters):
        return convolve(images, filter_product(filters), window)

    np.testing.assert_allclose(ours(images, filters), plain(images, filters), atol=1e-12)
    weights = jnp.cos(jnp.arange(plain(images, filters).size)).reshape(*images.shape[:-1], outputs)
    got, want = (
        jax.grad(lambda i, f, g=g: jnp.sum(weights * g(i, f) ** 2), (0, 1))(images, filters)
        for g in (ours, plain)
    )
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


@pytest.mark.parametrize(("inputs", "outputs"), [(2, 3), (1, 12)])
def test_filters_come_back(inputs, outputs):
    _, filters = drawn((4, 4), (3, 5), inputs, outputs)
    back = product_filters(filter_product(filters), inputs, outputs, (3, 5))
    np.testing.assert_array_equal(back, filters)


@pytest.mark.parametrize(("space", "window", "inputs", "outputs"), CASES)
def test_gradient_in_the_filters(space, window, inputs, outputs):
    images, filters = drawn(space, window, inputs, outputs)
    weights = jnp.cos(jnp.arange(2 * np.prod(space) * outputs)).reshape(2, *space, outputs)

    def ours(images, weights):
        return product_filters(filter_gradient(images, weights, window), inputs, outputs, window)

    def theirs(images, weights):
        return jax.grad(lambda f: jnp.sum(weights * plain(images, f)))(filters)

    np.testing.assert_allclose(ours(images, weights), theirs(images, weights), atol=1e-12)
    got, want = (
        jax.grad(lambda i, w, g=g: jnp.sum(g(i, w) ** 2), (0, 1))(images, weights)
        for g in (ours, theirs)
    )
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
