"""A convolution as one product against JAX's own, with its derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from shootax._fields.convolve import convolve, filter_product, product_filters

CASES = [((5,), (3,)), ((4, 6), (3, 3)), ((5, 3), (2, 4)), ((2, 2), (5, 5)), ((3, 4, 2), (3, 3, 3))]


def drawn(space, window, inputs=2, outputs=3):
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


@pytest.mark.parametrize(("space", "window"), CASES)
def test_values_and_derivatives(space, window):
    images, filters = drawn(space, window)

    def ours(images, filters):
        return convolve(images, filter_product(filters), window)

    np.testing.assert_allclose(ours(images, filters), plain(images, filters), atol=1e-12)
    weights = jnp.cos(jnp.arange(plain(images, filters).size)).reshape(*images.shape[:-1], 3)
    got, want = (
        jax.grad(lambda i, f, g=g: jnp.sum(weights * g(i, f) ** 2), (0, 1))(images, filters)
        for g in (ours, plain)
    )
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_filters_come_back():
    _, filters = drawn((4, 4), (3, 5))
    back = product_filters(filter_product(filters), 2, 3, (3, 5))
    np.testing.assert_array_equal(back, filters)
