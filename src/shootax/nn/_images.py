"""Image encoders and decoders for latent models, and a stem for classifiers."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import _checks as checks
from shootax._activations import Activation, relu
from shootax._activations import activation as named_activation
from shootax._arrays import model_inputs
from shootax.nn._layers import NORMS, Convolution, Downsample, LayerNorm, Upsample, he_normal


class ImageEncoder(eqx.Module):
    """Encode images as latent points: convolutions of width 5 and stride 2, then a linear map.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        encoder = sx.nn.ImageEncoder(5, size=12, channels=(2, 4), key=jax.random.key(0))
        print(encoder(jnp.ones((7, 1, 12, 12))).shape)  # (7, 5)
        ```
    """

    layers: tuple[Downsample, ...]
    norms: tuple[LayerNorm | None, ...]
    weight: Float[Array, "features dim"]
    bias: Float[Array, " dim"]
    size: int | None = eqx.field(static=True, default=None)  # not in files of earlier versions

    def __init__(
        self,
        dim: int,
        *,
        frames: int = 1,
        size: int = 28,
        channels: Sequence[int] = (8, 16, 32),
        norm: str = "none",
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `dim`: the dimension of the latent space.
        - `frames`: the number of frames of each sequence that the encoder takes, as channels.
        - `size`: the width and height of the images in pixels.
        - `channels`: the numbers of channels of the convolutions, each of which halves the size.
        - `norm`: the normalisation between convolution and ReLU, `"layer"` or `"none"`. The last
            convolution has none.
        - `key`: a JAX random key.
        """
        checks.one_of(norm, NORMS, "norm")
        dim, frames = (checks.positive_integer(n, s) for n, s in ((dim, "dim"), (frames, "frames")))
        channels = checked_channels(channels)
        keys = jax.random.split(checks.random_key(key), len(channels) + 1)
        before = [frames, *channels[:-1]]
        trios = zip(before, channels, keys, strict=False)
        self.layers = tuple(Downsample(i, o, key=k) for i, o, k in trios)
        between = [LayerNorm(o) if norm == "layer" else None for o in channels[:-1]]
        self.norms = (*between, None)
        self.size = size
        features = channels[-1] * sizes(size, len(channels))[0] ** 2
        self.weight = jax.random.normal(keys[-1], (features, dim)) / jnp.sqrt(features)
        self.bias = jnp.zeros(dim)

    def __call__(self, x: Float[Array, "batch frames h w"]) -> Float[Array, "batch dim"]:
        x = model_inputs(x, self.weight.dtype, "The images")
        frames = self.layers[0].weight.shape[2]
        # Several image sizes give the same size after halving and rounding up, so only this check
        # detects a wrong size.
        side = x.shape[-1] if self.size is None else self.size
        if x.ndim != 4 or x.shape[1:] != (frames, side, side):
            missing = frames == 1 and x.shape[1:] == (side, side)
            advice = (
                "Use x[:, None] to add the axis of frames."
                if missing
                else ("Resize the images, or make an encoder for their shape.")
            )
            raise ValueError(
                f"The images must have shape (batch, {frames}, {side}, {side}), as the encoder was "
                f"made for frames={frames}, size={side}; got {x.shape}. {advice}"
            )
        x = jnp.moveaxis(x, 1, -1)
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = layer(x)
            x = jax.nn.relu(x if norm is None else norm(x))
        return x.reshape(x.shape[0], len(self.weight)) @ self.weight + self.bias.reshape(1, -1)


class ImageStem(eqx.Module):
    """Convolutions with ReLU between them, each of which halves the height and width of images.

    Use it as the stem of a [`shootax.nn.resnet`][]. Images have their channels first,
    `(batch, channels, height, width)`, as in convolutional fields.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        stem = sx.nn.ImageStem(1, (4, 8), key=jax.random.key(0))
        print(stem(jnp.ones((7, 1, 28, 28))).shape)  # (7, 8, 7, 7)
        ```
    """

    layers: tuple[Downsample, ...]

    def __init__(
        self,
        inputs: int,
        channels: Sequence[int],
        *,
        widths: int | Sequence[int] = 5,
        pool: str = "none",
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `inputs`: the number of channels of the images.
        - `channels`: the numbers of channels of the convolutions, each of which halves the size.
        - `widths`: the widths of the kernels, odd numbers, or one width for all.
        - `pool`: how images are halved: `"none"` by a stride of 2, `"max"` by max pooling over 2×2
            pixels, which takes about twice the time and learns more.
        - `key`: a JAX random key.
        """
        channels = checked_channels(channels)
        inputs = checks.positive_integer(inputs, "inputs")
        if isinstance(widths, int):
            widths = (widths,) * len(channels)
        if len(widths) != len(channels):
            raise ValueError(
                f"widths must be a number, or a sequence with one for each of {len(channels)} "
                f"convolutions; got {widths!r}."
            )
        keys = jax.random.split(checks.random_key(key), len(channels))
        before = [inputs, *channels[:-1]]
        self.layers = tuple(
            Downsample(i, o, width, pool=pool, key=k)
            for i, o, width, k in zip(before, channels, widths, keys, strict=True)
        )

    def __call__(self, x: Float[Array, "batch inputs h w"]) -> Float[Array, "batch channels g v"]:
        x = model_inputs(x, self.layers[0].weight.dtype, "The images")
        inputs = self.layers[0].weight.shape[2]
        if x.ndim != 4 or x.shape[1] != inputs:
            hint = " Use x[:, None] to add the channel axis." if x.ndim == 3 else ""
            raise ValueError(
                f"The images must have shape (batch, {inputs}, height, width), got {x.shape}.{hint}"
            )
        x = jnp.moveaxis(x, 1, -1)
        for i, layer in enumerate(self.layers):
            x = layer(x if i == 0 else jax.nn.relu(x))
        return jnp.moveaxis(x, -1, 1)


class ImageDecoder(eqx.Module):
    """Decode latent points as images: a linear map, layers that double the size, and a sigmoid.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        decoder = sx.nn.ImageDecoder(5, size=12, channels=(4, 2), key=jax.random.key(0))
        print(decoder(jnp.ones((7, 5))).shape)  # (7, 12, 12)
        ```
    """

    weight: Float[Array, "dim features"]
    bias: Float[Array, " features"]
    layers: tuple[Upsample, ...]
    norms: tuple[LayerNorm | None, ...]
    sizes: tuple[int, ...] = eqx.field(static=True)
    # Files of earlier versions do not contain these two.
    last: Convolution | None = None
    activation: Activation = eqx.field(static=True, default=relu)

    def __init__(
        self,
        dim: int,
        *,
        size: int = 28,
        channels: Sequence[int] = (32, 16, 8),
        norm: str = "none",
        last: int | None = None,
        activation: str | Activation = "relu",
        key: PRNGKeyArray,
    ):
        """**Arguments:** as in [`shootax.nn.ImageEncoder`][], and:

        - `channels`: the number of channels before each layer that doubles the size.
        - `last`: the number of channels at full size, before an additional convolution of width 3. By
            default there is none, and the last layer that doubles the size returns the image.
        - `activation`: the activation between layers, a name as for [`shootax.UpDown`][] or an
            elementwise function.
        """
        checks.one_of(norm, NORMS, "norm")
        dim, channels = checks.positive_integer(dim, "dim"), checked_channels(channels)
        self.activation = named_activation(activation)
        keys = jax.random.split(checks.random_key(key), len(channels) + 1)
        after = [*channels[1:], 1]
        self.last = None
        if last is not None:
            after[-1] = checks.positive_integer(last, "last")
            self.last = Convolution(last, 1, key=jax.random.fold_in(key, 1))
        trios = zip(channels, after, keys, strict=False)
        self.sizes = sizes(size, len(channels))
        features = channels[0] * self.sizes[0] ** 2
        self.weight = he_normal(keys[-1], (dim, features), dim)
        self.bias = jnp.zeros(features)
        self.layers = tuple(Upsample(i, o, key=k) for i, o, k in trios)
        ends = [after[-1]] if self.last is not None else []
        between = [LayerNorm(o) if norm == "layer" else None for o in (*channels[1:], *ends)]
        self.norms = (*between, *[None] * (len(channels) - len(between)))

    def __call__(self, z: Float[Array, "batch dim"]) -> Float[Array, "batch h w"]:
        z = model_inputs(z, self.weight.dtype, "The latent points")
        if z.ndim != 2 or z.shape[1] != self.weight.shape[0]:
            raise ValueError(
                f"The latent points must have shape (batch, {self.weight.shape[0]}), as this decoder "
                f"was made for dim={self.weight.shape[0]}; got {z.shape}."
            )
        first = self.sizes[0]
        x = z @ self.weight + self.bias.reshape(1, -1)
        x = x.reshape(z.shape[0], first, first, -1)
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms, strict=True)):
            x = layer(self.activation(x))[:, : self.sizes[i + 1], : self.sizes[i + 1]]
            x = x if norm is None else norm(x)
        if self.last is not None:
            x = self.last(self.activation(x))
        return jax.nn.sigmoid(x[..., 0])


def checked_channels(channels: Sequence[int]) -> tuple[int, ...]:
    """Check that `channels` are numbers of channels, and return them as a tuple."""
    if not isinstance(channels, Sequence) or isinstance(channels, str) or not channels:
        raise TypeError(
            f"channels must be a sequence of integers, as in (8, 16, 32); got {checks.shown(channels)}."
        )
    return tuple(checks.positive_integer(number, "channels") for number in channels)


def sizes(size: int, layers: int) -> tuple[int, ...]:
    """The sizes of an image that is halved `layers` times, rounded up, in increasing order."""
    checks.positive_integer(layers, "The number of layers")
    found = [checks.positive_integer(size, "size")]
    for _ in range(layers):
        found.append(-(-found[-1] // 2))
    return tuple(reversed(found))
