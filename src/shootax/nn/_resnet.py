"""Residual networks of convolutional shooting blocks."""

import itertools
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import _checks as checks
from shootax._arrays import model_inputs
from shootax._chain import Chain, ParticleChain
from shootax._fields import AbstractConvField
from shootax._fields.convolve import convolve, filter_product
from shootax._net import Net

REDUCTIONS = ("pool", "stride", "none")


class Transition(eqx.Module):
    """Connects two blocks: reduces the resolution, changes the number of channels, and optionally
    normalises.

    A learned linear map, the same at every pixel, mixes the channels.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        transition = sx.nn.Transition((2, 4), key=jax.random.key(0))
        print(transition(jnp.ones((5, 2, 8, 8))).shape)  # (5, 4, 4, 4)
        ```
    """

    weight: Float[Array, "out channels"]
    norm: eqx.nn.GroupNorm | None
    reduce: Literal["pool", "stride", "none"] = eqx.field(static=True)

    def __init__(
        self,
        channels: tuple[int, int],
        *,
        reduce: Literal["pool", "stride", "none"] = "pool",
        groups: int = 0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `channels`: the numbers of channels before and after.
        - `reduce`: how the resolution is reduced: `"pool"` (the mean over 2×2 pixels), `"stride"` (every
            second pixel) or `"none"`.
        - `groups`: the number of groups of a group norm at the start, 0 for none.
        - `key`: a JAX random key.
        """
        if not isinstance(channels, tuple | list) or len(channels) != 2:
            raise ValueError(
                "channels must be a pair, the numbers of channels before and after, as in "
                f"Transition((8, 16), key=key); got {channels!r}."
            )
        groups = checks.non_negative_integer(groups, "groups")
        before, after = (checks.positive_integer(c, "channels") for c in channels)
        checks.random_key(key)
        self.weight = jax.random.normal(key, (after, before)) * before**-0.5
        if groups and before % groups:
            raise ValueError(
                f"groups must divide the number of channels, got {groups} groups of {before} channels."
            )
        self.norm = eqx.nn.GroupNorm(groups, before) if groups else None
        self.reduce = checks.one_of(reduce, REDUCTIONS, "reduction")  # pyright: ignore

    def __call__(self, x: Array) -> Array:
        """Apply the transition to a batch `(batch, channels, *space)`."""
        return jax.vmap(self.one)(x)

    def one(self, x: Array) -> Array:
        """Apply the transition to one image."""
        x = x if self.norm is None else self.norm(x)
        space = tuple(range(1, x.ndim))
        if self.reduce == "stride":
            x = x[(slice(None), *[slice(None, None, 2)] * len(space))]
        if self.reduce == "pool":
            even = x[(slice(None), *[slice(0, 2 * (n // 2)) for n in x.shape[1:]])]
            halves = [part for n in even.shape[1:] for part in (n // 2, 2)]
            pairs = even.reshape(x.shape[0], *halves)
            x = jnp.mean(pairs, axis=tuple(range(2, pairs.ndim, 2)))
        return jnp.tensordot(self.weight, x, axes=1)


class Classifier(eqx.Module):
    """A convolutional classifier of images `(batch, channels, *space)`; see [`shootax.nn.resnet`][].

    **Arguments:**

    - `stem`: a convolution before the blocks, or any module that maps a batch of images to a batch.
    - `body`: the blocks.
    - `head`: a linear map from the means of the channels over each cell to the logits of the classes.
    - `cells`: the number of cells along each axis of an image. With 1, the mean is over all pixels.
    """

    stem: eqx.nn.Conv | Callable[[Any], Any]
    body: Chain | ParticleChain
    head: eqx.nn.Linear
    cells: int = eqx.field(static=True, default=1)  # not in files of earlier versions

    def __call__(self, x: Array) -> Float[Array, "batch classes"]:
        x = model_inputs(x, self.head.weight.dtype, "The images")
        x = self.body(self._stem(x))
        return jax.vmap(self.head)(averaged(x, self.cells))

    def _stem(self, x: Array) -> Array:
        stem = self.stem
        if not isinstance(stem, eqx.nn.Conv):
            return stem(x)
        channels, space = stem.in_channels, stem.num_spatial_dims
        if x.ndim != space + 2 or x.shape[1] != channels:
            missing = x.ndim == space + 1 and channels == 1
            hint = " Use x[:, None] to add the channel axis." if missing else ""
            raise ValueError(
                f"The images must have shape (batch, {channels}, ...) with {space} spatial axes, got "
                f"{x.shape}.{hint}"
            )
        same = tuple((k // 2, k - 1 - k // 2) for k in stem.kernel_size)
        if (stem.padding, stem.groups, stem.padding_mode) != (same, 1, "ZEROS") or any(
            number != 1 for number in (*stem.stride, *stem.dilation)
        ):
            return jax.vmap(stem)(x)
        images = jnp.moveaxis(x, 1, -1)
        moved = convolve(images, filter_product(stem.weight), tuple(stem.kernel_size))
        moved = jnp.moveaxis(moved, -1, 1)
        return moved if stem.bias is None else moved + stem.bias[None]


def averaged(x: Float[Array, "batch channels ..."], cells: int) -> Float[Array, "batch features"]:
    """The means of the channels over each cell. Cells overlap if they do not divide the image."""
    space = x.shape[2:]
    parts = []
    for corner in itertools.product(range(cells), repeat=len(space)):
        cut = tuple(
            slice(i * n // cells, -(-(i + 1) * n // cells))
            for i, n in zip(corner, space, strict=True)
        )
        parts.append(jnp.mean(x[(slice(None), slice(None), *cut)], axis=tuple(range(2, x.ndim))))
    return jnp.concatenate(parts, axis=1)


def resnet(
    nets: tuple[Net, ...],
    *,
    inputs: int,
    classes: int,
    reduce: Literal["pool", "stride", "none"] = "pool",
    groups: int = 0,
    pass_particles: bool = False,
    stem: Callable[[Any], Any] | None = None,
    cells: int = 1,
    key: PRNGKeyArray,
) -> Classifier:
    """Construct an image classifier whose blocks are nets with convolutional fields.

    **Arguments:**

    - `nets`: the blocks. The number of channels may grow from one block to the next.
    - `inputs`, `classes`: the number of channels of the images, and the number of classes.
    - `reduce`, `groups`: as in [`shootax.nn.Transition`][], for the transitions between blocks.
    - `pass_particles`: whether particles are passed from block to block. Otherwise each block has its
        own particles.
    - `stem`: a module that maps a batch of images to a batch with the channels of the first block, such
        as [`shootax.nn.ImageStem`][]. The default is a convolution of width 3.
    - `cells`: the number of cells along each axis of an image. The linear map to the classes takes the
        mean of each channel over each cell.
    - `key`: a JAX random key.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        key = jax.random.key(0)
        nets = tuple(
            sx.Net(sx.ConvAffine(channels, (4, 4)), particles=3, key=key) for channels in (2, 4)
        )
        model = sx.nn.resnet(nets, inputs=1, classes=10, key=key)
        print(model(jnp.ones((5, 1, 8, 8))).shape)  # (5, 10)
        ```
    """
    nets = checks.sequence(nets, "nets", "resnet((first, second), ...)")
    checks.one_of(reduce, REDUCTIONS, "reduction")
    groups = checks.non_negative_integer(groups, "groups")
    checks.boolean(pass_particles, "pass_particles")
    cells = checks.positive_integer(cells, "cells")
    if stem is not None:
        checks.function(stem, "stem", "a module from a batch of images to a batch")
    if not nets:
        raise ValueError("nets must contain at least one net, got none.")
    for net in nets:
        checks.instance(net, Net, "Each of nets", "resnet((first, second), inputs=3, classes=10)")
        checks.instance(
            net.field, AbstractConvField, "The field of a block", "Net(ConvAffine(...), ...)"
        )
    inputs, classes = (
        checks.positive_integer(number, name)
        for number, name in ((inputs, "inputs"), (classes, "classes"))
    )
    keys = jax.random.split(checks.random_key(key), len(nets) + 1)
    channels = [net.field.dim for net in nets]  # pyright: ignore[reportAttributeAccessIssue]
    space = len(nets[0].field.state.shape) - 1
    pairs = itertools.pairwise(channels)
    between = tuple(
        Transition(pair, reduce=reduce, groups=groups, key=k)
        for pair, k in zip(pairs, keys[2:], strict=True)
    )
    if pass_particles:
        body: Chain | ParticleChain = ParticleChain(nets, between)
    else:
        steps = [step for net, t in zip(nets, (*between, None), strict=True) for step in (net, t)]
        body = Chain(*(step for step in steps if step is not None))
    if stem is None:
        stem = eqx.nn.Conv(space, inputs, channels[0], kernel_size=3, padding=1, key=keys[0])
    head = eqx.nn.Linear(channels[-1] * cells**space, classes, key=keys[1])
    return Classifier(stem, body, head, cells)
