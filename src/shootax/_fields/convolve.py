"""Convolution of a batch of images as one product.

Images have their channels last, `(batch, *space, channels)`. Shifts along the last axis of space are laid
side by side before the product, those along the other axes are added up after it: for a window of 3×3
three copies before and three after, where whole patches would be nine. The derivatives, which JAX finds,
are of the same kind.
"""

import itertools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def filter_product(filters: Float[Array, "outputs inputs ..."]) -> Float[Array, "rows columns"]:
    """A bank of filters `(outputs, inputs, *window)` as the matrix that `convolve` takes."""
    _, inputs, *window = filters.shape
    axes = (filters.ndim - 1, 1, *range(2, filters.ndim - 1), 0)
    return jnp.transpose(filters, axes).reshape(window[-1] * inputs, -1)


def product_filters(
    matrix: Float[Array, "rows columns"], inputs: int, outputs: int, window: tuple[int, ...]
) -> Float[Array, "outputs inputs ..."]:
    """The filters that `filter_product` made a matrix of."""
    whole = matrix.reshape(window[-1], inputs, *window[:-1], outputs)
    return jnp.transpose(whole, (whole.ndim - 1, 1, *range(2, whole.ndim - 1), 0))


def convolve(
    images: Float[Array, "batch ..."], matrix: Float[Array, "rows columns"], window: tuple[int, ...]
) -> Float[Array, "batch ..."]:
    """The convolution of images with filters, padded with zeros so that they keep their extent.

    **Arguments:**

    - `images`: `(batch, *space, inputs)`.
    - `matrix`: the filters, as `filter_product` arranges them.
    - `window`: the extent of the filters.
    """
    batch, *space, _ = images.shape
    beside = [_moved(images, len(space), j, window[-1]) for j in range(window[-1])]
    shifted = jnp.concatenate(beside, axis=-1).reshape(batch * math.prod(space), -1)
    outputs = matrix.shape[1] // math.prod(window[:-1])
    y = (shifted @ matrix).reshape(batch, *space, *window[:-1], outputs)
    total = None
    for corner in itertools.product(*map(range, window[:-1])):
        part = y[(slice(None),) * (len(space) + 1) + corner]
        for axis, place in enumerate(corner, 1):
            part = _moved(part, axis, place, window[axis - 1])
        total = part if total is None else total + part
    assert total is not None
    return total


def _moved(images: Array, axis: int, place: int, window: int) -> Array:
    """What stands at a place of the window around each pixel, along one axis; zero outside."""
    by, length = place - window // 2, images.shape[axis]
    if by == 0:
        return images
    if abs(by) >= length:
        return jnp.zeros_like(images)
    kept = jax.lax.slice_in_dim(images, max(by, 0), length + min(by, 0), axis=axis)
    widths = [(0, 0)] * images.ndim
    widths[axis] = (max(-by, 0), max(by, 0))
    return jnp.pad(kept, widths)
