"""Convolution of a batch of images as one product.

Images have their channels last, `(batch, *space, channels)`. Shifts along the last spatial axis are
placed side by side before the product, and shifts along the other axes are added up after it: for a
window of 3×3, three copies before and three after, instead of nine for whole patches. Patches need fewer
copies only if images have few channels compared with the outputs, as at the start of a network. JAX
computes the derivatives, which are of the same kind.
"""

import itertools
import math

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def filter_product(filters: Float[Array, "outputs inputs ..."]) -> Float[Array, "rows columns"]:
    """A bank of filters `(outputs, inputs, *window)` as the matrix that `convolve` takes."""
    outputs, inputs, *window = filters.shape
    after = _after(inputs, outputs, tuple(window))
    before = range(2 + after, filters.ndim)
    axes = (*before, 1, *range(2, 2 + after), 0)
    return jnp.transpose(filters, axes).reshape(math.prod(window[after:]) * inputs, -1)


def product_filters(
    matrix: Float[Array, "rows columns"], inputs: int, outputs: int, window: tuple[int, ...]
) -> Float[Array, "outputs inputs ..."]:
    """The filters from the matrix of `filter_product`, its inverse."""
    after = _after(inputs, outputs, window)
    before = len(window) - after
    whole = matrix.reshape(*window[after:], inputs, *window[:after], outputs)
    axes = (whole.ndim - 1, before, *range(before + 1, whole.ndim - 1), *range(before))
    return jnp.transpose(whole, axes)


def convolve(
    images: Float[Array, "batch ..."], matrix: Float[Array, "rows columns"], window: tuple[int, ...]
) -> Float[Array, "batch ..."]:
    """The convolution of images with filters, padded with zeros so that they keep their extent.

    **Arguments:**

    - `images`: `(batch, *space, inputs)`.
    - `matrix`: the filters, as `filter_product` arranges them.
    - `window`: the extent of the filters.
    """
    batch, *space, inputs = images.shape
    number = matrix.size // (inputs * math.prod(window))
    after = _after(inputs, number, window)
    y = (_beside(images, after, window) @ matrix).reshape(batch, *space, matrix.shape[1])
    corners = list(itertools.product(*map(range, window[:after])))
    total = None
    # The transpose of a split is one concatenation, that of slices a sum of padded arrays.
    for corner, part in zip(corners, jnp.split(y, len(corners), axis=-1), strict=True):
        part = _placed(part, 1, corner, window[:after])
        total = part if total is None else total + part
    assert total is not None
    return total


def filter_gradient(
    images: Float[Array, "batch ..."],
    cotangents: Float[Array, "batch ..."],
    window: tuple[int, ...],
) -> Float[Array, "rows columns"]:
    """The derivative of $Σ ⟨w, convolve(x, A)⟩$ in the matrix $A$: one product, with equally few copies.

    **Arguments:**

    - `images`: $x$, `(batch, *space, inputs)`.
    - `cotangents`: $w$, `(batch, *space, outputs)`.
    - `window`: the extent of the filters.
    """
    after = _after(images.shape[-1], cotangents.shape[-1], window)
    corners = itertools.product(*map(range, window[:after]))
    above = [_placed(cotangents, 1, corner, window[:after], back=True) for corner in corners]
    moved = jnp.concatenate(above, axis=-1)
    shifted = _beside(images, after, window)
    return shifted.T @ moved.reshape(len(shifted), moved.shape[-1])


def _beside(
    images: Float[Array, "batch ..."], after: int, window: tuple[int, ...]
) -> Float[Array, "pixels rows"]:
    """The pixels of a batch, side by side with their neighbours along all but the first axes."""
    corners = itertools.product(*map(range, window[after:]))
    places = [_placed(images, after + 1, corner, window[after:]) for corner in corners]
    beside = jnp.concatenate(places, axis=-1)
    return beside.reshape(math.prod(images.shape[:-1]), beside.shape[-1])


def _after(inputs: int, outputs: int, window: tuple[int, ...]) -> int:
    """The number of axes along which shifts are added up after the product: all but the last, or none."""
    patches = inputs * math.prod(window)
    split = inputs * window[-1] + outputs * math.prod(window[:-1])
    return 0 if patches <= split // 2 else len(window) - 1


def _placed(
    images: Array, first: int, corner: tuple[int, ...], window: tuple[int, ...], back: bool = False
) -> Array:
    """The neighbour of each pixel at one place of the window, along the axes from `first` on; with
    `back`, the transpose, i.e. the neighbour at the opposite place."""
    for axis, (place, width) in enumerate(zip(corner, window, strict=True), first):
        by = place - width // 2
        images = _moved(images, axis, -by if back else by)
    return images


def _moved(images: Array, axis: int, by: int) -> Array:
    """The pixels `by` places further along an axis; zero outside."""
    length = images.shape[axis]
    if by == 0:
        return images
    if abs(by) >= length:
        return jnp.zeros_like(images)
    kept = jax.lax.slice_in_dim(images, max(by, 0), length + min(by, 0), axis=axis)
    widths = [(0, 0)] * images.ndim
    widths[axis] = (max(-by, 0), max(by, 0))
    return jnp.pad(kept, widths)
