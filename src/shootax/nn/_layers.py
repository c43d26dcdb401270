"""Convolutions that halve, double or keep the size of images, as matrix products.

Images are `(batch, height, width, channels)`. A few lines of an image at a time are multiplied by a
matrix with the kernel along its diagonals. This also multiplies zeros, but it is one large product. On a
CPU, inside a loop, XLA's own convolutions are many times slower (docs/laboratory.md).
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import _checks as checks
from shootax._fields.convolve import convolve, filter_product

NORMS = ("none", "layer")
POOLS = ("none", "max")


class Downsample(eqx.Module):
    """A convolution of odd width that halves images: $h$ pixels become $\\lceil h/2 \\rceil$.

    It has a stride of 2 or, with `pool="max"`, a stride of 1 followed by max pooling over 2×2 pixels.
    Images have their channels last, `(batch, height, width, channels)`.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        layer = sx.nn.Downsample(1, 4, key=jax.random.key(0))
        print(layer(jnp.ones((7, 12, 12, 1))).shape)  # (7, 6, 6, 4)
        ```
    """

    weight: Float[Array, "width width inputs outputs"]
    bias: Float[Array, " outputs"]
    pool: str = eqx.field(static=True, default="none")  # not in files of earlier versions

    def __init__(
        self,
        inputs: int,
        outputs: int,
        width: int = 5,
        *,
        pool: str = "none",
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `inputs`, `outputs`: the numbers of channels before and after.
        - `width`: the width of the kernel, an odd number.
        - `pool`: the pooling, `"none"` or `"max"`.
        - `key`: a JAX random key.
        """
        checks.one_of(pool, POOLS, "pool")
        inputs, outputs = (checks.positive_integer(n, "channels") for n in (inputs, outputs))
        checks.random_key(key)
        width = odd(width)
        self.weight = he_normal(key, (width, width, inputs, outputs), width**2 * inputs)
        self.bias = jnp.zeros(outputs)
        self.pool = pool

    def __call__(self, x: Float[Array, "batch h w inputs"]) -> Float[Array, "batch g v outputs"]:
        width, _, inputs, outputs = self.weight.shape
        if self.pool == "max":
            filters = jnp.transpose(self.weight, (3, 2, 0, 1))
            return plus(largest(convolve(x, filter_product(filters), (width, width))), self.bias)
        samples, height, across, _ = x.shape
        down, out = -(-height // 2), -(-across // 2)
        # Pixel 2b + j - width//2 of a line goes to pixel b by the column j of the kernel.
        places = 2 * np.arange(out) + np.arange(width)[:, None] - width // 2
        chosen = (np.arange(across)[None, :, None] == places[:, None]).astype(x.dtype)
        matrix = jnp.einsum("jab,ijco->iacbo", jnp.asarray(chosen), self.weight)
        matrix = matrix.reshape(width * across * inputs, out * outputs)
        below = 2 * (down - 1) + width - width // 2 - height
        padded = jnp.pad(x, ((0, 0), (width // 2, max(below, 0)), (0, 0), (0, 0)))
        padded = padded.reshape(samples, padded.shape[1], across * inputs)
        lines = [padded[:, i : i + 2 * down - 1 : 2] for i in range(width)]
        y = jnp.concatenate(lines, axis=-1).reshape(samples * down, len(matrix)) @ matrix
        return plus(y.reshape(samples, down, out, outputs), self.bias)


class Upsample(eqx.Module):
    """A transposed convolution of stride 2: $h$ pixels become $2h$.

    Each output pixel depends on a 3×3 neighbourhood of the input, with weights that depend on the parity
    of its row and column. The layer is thus a 3×3 convolution with four times the channels, whose
    outputs are distributed over the four parities. It covers kernels of width up to 6. Images have
    their channels last, `(batch, height, width, channels)`.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        layer = sx.nn.Upsample(4, 1, key=jax.random.key(0))
        print(layer(jnp.ones((7, 6, 6, 4))).shape)  # (7, 12, 12, 1)
        ```
    """

    weight: Float[Array, "3 3 inputs fourfold"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, *, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `outputs`: the numbers of channels before and after.
        - `key`: a JAX random key.
        """
        inputs, outputs = (checks.positive_integer(n, "channels") for n in (inputs, outputs))
        checks.random_key(key)
        self.weight = he_normal(key, (3, 3, inputs, 4 * outputs), 9 * inputs)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, "batch h w inputs"]) -> Float[Array, "batch g v outputs"]:
        samples, height, width, inputs = x.shape
        outputs = self.bias.shape[0]
        kernel = self.weight.reshape(3, 3, inputs, 2, 2, outputs)
        diagonals = jnp.asarray(np.stack([np.eye(width, k=1 - j) for j in range(3)]), x.dtype)
        matrix = jnp.einsum("jab,ijcpqo->iacpbqo", diagonals, kernel)
        matrix = matrix.reshape(3 * width * inputs, 4 * width * outputs)
        padded = jnp.pad(x, ((0, 0), (1, 1), (0, 0), (0, 0)))
        padded = padded.reshape(samples, height + 2, width * inputs)
        lines = jnp.concatenate([padded[:, i : i + height] for i in range(3)], axis=-1)
        y = lines.reshape(samples * height, len(matrix)) @ matrix
        return plus(y.reshape(samples, 2 * height, 2 * width, outputs), self.bias)


class Convolution(eqx.Module):
    """A convolution of odd width with zero padding that keeps the size of images.

    Images have their channels last, `(batch, height, width, channels)`.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        layer = sx.nn.Convolution(4, 1, key=jax.random.key(0))
        print(layer(jnp.ones((7, 12, 12, 4))).shape)  # (7, 12, 12, 1)
        ```
    """

    weight: Float[Array, "width width inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, width: int = 3, *, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `outputs`: the numbers of channels before and after.
        - `width`: the width of the kernel, an odd number.
        - `key`: a JAX random key.
        """
        inputs, outputs = (checks.positive_integer(n, "channels") for n in (inputs, outputs))
        checks.random_key(key)
        width = odd(width)
        self.weight = he_normal(key, (width, width, inputs, outputs), width**2 * inputs)
        self.bias = jnp.zeros(outputs)

    def __call__(self, x: Float[Array, "batch h w inputs"]) -> Float[Array, "batch h w outputs"]:
        width, _, inputs, outputs = self.weight.shape
        samples, height, across, _ = x.shape
        # Pixel b + j - width//2 of a line goes to pixel b by the column j of the kernel.
        chosen = np.stack([np.eye(across, k=width // 2 - j) for j in range(width)])
        matrix = jnp.einsum("jab,ijco->iacbo", jnp.asarray(chosen, x.dtype), self.weight)
        matrix = matrix.reshape(width * across * inputs, across * outputs)
        padded = jnp.pad(x, ((0, 0), (width // 2, width // 2), (0, 0), (0, 0)))
        padded = padded.reshape(samples, padded.shape[1], across * inputs)
        lines = [padded[:, i : i + height] for i in range(width)]
        y = jnp.concatenate(lines, axis=-1).reshape(samples * height, len(matrix)) @ matrix
        return plus(y.reshape(samples, height, across, outputs), self.bias)


class LayerNorm(eqx.Module):
    """Layer norm for images: mean 0 and variance 1 over pixels and channels, then scaled by channel.

    Unlike batch norm, it does the same in training and evaluation, and its result for an image does not
    depend on the rest of the batch.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        print(sx.nn.LayerNorm(4)(jnp.ones((7, 6, 6, 4))).shape)  # (7, 6, 6, 4)
        ```
    """

    scale: Float[Array, " channels"]
    shift: Float[Array, " channels"]

    def __init__(self, channels: int):
        """**Arguments:** `channels`, the number of channels."""
        channels = checks.positive_integer(channels, "channels")
        self.scale, self.shift = jnp.ones(channels), jnp.zeros(channels)

    def __call__(self, x: Float[Array, "batch h w channels"]) -> Float[Array, "batch h w channels"]:
        mean = jnp.mean(x, axis=(1, 2, 3), keepdims=True)
        square = jnp.mean(x**2, axis=(1, 2, 3), keepdims=True)
        inverse = jax.lax.rsqrt(jnp.maximum(square - mean**2, 0) + 1e-5)
        return plus((x - mean) * inverse * self.scale.reshape(1, 1, 1, -1), self.shift)


def largest(x: Float[Array, "batch h w channels"]) -> Float[Array, "batch g v channels"]:
    """Max pooling over 2×2 pixels. At the edge of an odd size, the window contains fewer pixels."""
    samples, height, width, channels = x.shape
    more = ((0, 0), (0, height % 2), (0, width % 2), (0, 0))
    x = jnp.pad(x, more, constant_values=-jnp.inf)
    x = x.reshape(samples, (height + 1) // 2, 2, (width + 1) // 2, 2, channels)
    x = jnp.maximum(x[:, :, 0], x[:, :, 1])
    return jnp.maximum(x[:, :, :, 0], x[:, :, :, 1])


def odd(width: int) -> int:
    """Check that the width of a kernel is odd, and return it."""
    if checks.positive_integer(width, "width") % 2 == 0:
        raise ValueError(f"The width of a kernel must be odd, got {width}. Use {width + 1}.")
    return width


def plus(x: Array, bias: Array) -> Array:
    """Add a bias to each channel."""
    return x + bias.reshape(1, 1, 1, -1)


def he_normal(key: PRNGKeyArray, shape: tuple[int, ...], fan_in: int) -> Array:
    """Draw weights from $N(0, 2/n)$ for $n$ inputs, which preserves the scale through a ReLU."""
    return jnp.sqrt(2 / fan_in) * jax.random.normal(key, shape)
