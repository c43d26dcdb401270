"""Convolutions that halve or double an image, in the forms that run fastest on a processor.

Images are `(rows, height, width, channels)`.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import checks

NORMS = ("none", "layer")


class Halve(eqx.Module):
    """A convolution of odd width and stride 2: $h$ pixels become $\\lceil h/2 \\rceil$."""

    weight: Float[Array, "width width inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, width: int = 5, *, key: PRNGKeyArray):
        """**Arguments:** channels before and after, the width of the kernel, and a random key."""
        checks.positive_integer(width, "width")
        if width % 2 == 0:
            raise ValueError(f"The width of a kernel must be odd, got {width}.")
        self.weight = he_normal(key, (width, width, inputs, outputs), width**2 * inputs)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, "rows h w inputs"]) -> Float[Array, "rows g v outputs"]:
        edge = self.weight.shape[0] // 2
        numbers = ("NHWC", "HWIO", "NHWC")
        padding = [(edge, edge)] * 2
        out = jax.lax.conv_general_dilated(
            x, self.weight, (2, 2), padding, dimension_numbers=numbers
        )
        return plus(out, self.bias)


class Double(eqx.Module):
    """A transposed convolution of stride 2: $h$ pixels become $2h$.

    A pixel of the output depends on a 3×3 neighbourhood of the input, by weights that differ with
    the parity of its place. So it is an ordinary 3×3 convolution with four times the channels, whose
    outputs are then dealt out to the four parities. A processor does that several times faster than
    a convolution of an image blown up with zeros. Kernels of width 5 and 6 are special cases; the
    weights that would make a width of 6 are all kept.
    """

    weight: Float[Array, "3 3 inputs fourfold"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, *, key: PRNGKeyArray):
        """**Arguments:** channels before and after, and a random key."""
        self.weight = he_normal(key, (3, 3, inputs, 4 * outputs), 9 * inputs)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, "rows h w inputs"]) -> Float[Array, "rows g v outputs"]:
        out = by_lines(x, self.weight) if self.bias.shape[0] < 4 else by_windows(x, self.weight)
        return plus(out, self.bias)


def by_windows(x: Array, weight: Array) -> Array:
    """The 3×3 convolution as such, then the four parities dealt out."""
    rows, height, width, _ = x.shape
    outputs = weight.shape[3] // 4
    numbers = ("NHWC", "HWIO", "NHWC")
    y = jax.lax.conv_general_dilated(x, weight, (1, 1), "SAME", dimension_numbers=numbers)
    y = y.reshape(rows, height, width, 2, 2, outputs).transpose(0, 1, 3, 2, 4, 5)
    return y.reshape(rows, 2 * height, 2 * width, outputs)


def by_lines(x: Array, weight: Array) -> Array:
    """Three lines of the image at a time, through a matrix that has the kernel on its diagonals.

    Its zeros are multiplied too, but it is one large product: faster where channels are few.
    """
    rows, height, width, inputs = x.shape
    outputs = weight.shape[3] // 4
    kernel = weight.reshape(3, 3, inputs, 2, 2, outputs)
    diagonals = jnp.asarray(np.stack([np.eye(width, k=1 - j) for j in range(3)]), x.dtype)
    matrix = jnp.einsum("jab,ijcpqo->iacpbqo", diagonals, kernel)
    matrix = matrix.reshape(3 * width * inputs, 4 * width * outputs)
    padded = jnp.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)))
    padded = padded.reshape(rows, height + 2, width * inputs)
    lines = jnp.concatenate([padded[:, i : i + height] for i in range(3)], axis=-1)
    y = lines.reshape(rows * height, -1) @ matrix
    return y.reshape(rows, 2 * height, 2 * width, outputs)


class LayerNorm(eqx.Module):
    """Every image brought to mean 0 and variance 1 over its pixels and channels, then scaled by channel.

    Unlike batch norm it does the same thing in training and afterwards, and what becomes of one
    image does not depend on the others of its batch.
    """

    scale: Float[Array, " channels"]
    shift: Float[Array, " channels"]

    def __init__(self, channels: int):
        self.scale, self.shift = jnp.ones(channels), jnp.zeros(channels)

    def __call__(self, x: Float[Array, "rows h w channels"]) -> Float[Array, "rows h w channels"]:
        mean = jnp.mean(x, axis=(1, 2, 3), keepdims=True)
        square = jnp.mean(x**2, axis=(1, 2, 3), keepdims=True)
        inverse = jax.lax.rsqrt(jnp.maximum(square - mean**2, 0) + 1e-5)
        return plus((x - mean) * inverse * self.scale.reshape(1, 1, 1, -1), self.shift)


def plus(x: Array, bias: Array) -> Array:
    """`bias` added to the channels."""
    return x + bias.reshape(1, 1, 1, -1)


def he_normal(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int) -> Array:
    """Weights $N(0, 2/n)$ for $n$ inputs, which keep the size of what passes through a ReLU."""
    return jnp.sqrt(2 / fan_in) * jax.random.normal(key, shape)
