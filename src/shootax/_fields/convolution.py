"""Convolutional fields, linear in θ, described by the same tables as block fields.

The parts of the state are now groups of channels of an image (in any number of spatial dimensions),
and each entry of θ is a bank of filters from one feature to one part, or a bias. Filters act on
*patches*: all shifts of a feature within the window, side by side, so that a convolution is a
product, and so is its derivative.

A batch of images has its channels last, and goes through one product with fewer copies than whole patches
need (`convolve.py`). On a CPU, inside a loop, this is many times faster than XLA's convolutions and twice
as fast as patches (docs/speed.md).
"""

import abc
import itertools
import math
from collections.abc import Mapping
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from shootax import _checks as checks
from shootax._activations import Activation
from shootax._activations import activation as named_activation
from shootax._compile import default_platform
from shootax._fields.base import AbstractField, Linearity, shape
from shootax._fields.block import Block, Feature, Layout
from shootax._fields.chunks import by_chunks, chunk_size, joined
from shootax._fields.convolve import (
    convolve,
    filter_gradient,
    filter_product,
    product_filters,
)


class PackedFilters(NamedTuple):
    """All filters of a convolutional field as the matrix of one product, and the biases."""

    matrix: Array
    bias: Array


class AbstractImageField(AbstractField):
    """A field, linear in θ, whose states are images of any extent. `size` is that of the particles."""

    size: eqx.AbstractVar[tuple[int, ...]]

    @property
    def free_axes(self) -> int:
        return len(self.size)

    @property
    def known_linearity(self) -> Linearity:
        return "linear"

    def default_momentum(self, particles: int) -> float:
        return 0.1 / math.sqrt(math.prod(self.size))  # θ* is a sum over all pixels


class AbstractConvField(AbstractImageField):
    """A convolutional field given by a [`Layout`][shootax.extend.Layout] of channels.

    `dim` is the number of visible channels, `size` the particles' extent in space, which may be
    smaller than that of the data, and `window` the extent of the filters.

    !!! example

        ```python
        import equinox as eqx
        import shootax as sx
        from shootax.extend import Block, Feature, Layout

        class Linear(sx.extend.AbstractConvField):
            dim: int = eqx.field(static=True)
            size: tuple[int, ...] = eqx.field(static=True)
            window: int = eqx.field(static=True)

            @property
            def layout(self):
                features, blocks = (Feature("x", "x"),), (Block("A", "x", "x"),)
                return Layout(parts={"x": self.dim}, features=features, blocks=blocks)

        print(Linear(2, (5, 5), 3).theta["A"].shape)  # (2, 2, 3, 3)
        ```
    """

    dim: eqx.AbstractVar[int]
    window: eqx.AbstractVar[int]

    @property
    @abc.abstractmethod
    def layout(self) -> Layout:
        """Parts, features and blocks; sizes are numbers of channels."""

    @property
    def visible_size(self) -> int:
        return self.dim

    @property
    def state(self) -> jax.ShapeDtypeStruct:
        return shape(self.layout.state_size, *self.size)

    @property
    def theta(self) -> dict[str, jax.ShapeDtypeStruct]:
        layout, window = self.layout, (self.window,) * len(self.size)
        features = {feature.name: feature for feature in layout.features}
        out = {}
        for block in layout.blocks:
            part, target = features[block.feature].part, layout.parts[block.target]
            source = () if part is None else (layout.parts[part], *window)
            out[block.name] = shape(target, *source)
        return out

    def __call__(self, z: Array, theta: dict[str, Array]) -> Array:
        return jnp.tensordot(self.filter_matrix(theta), self.patches(z), axes=1)

    def patches(self, z: Array) -> Array:
        """All features at all places of the window, `(features, *space)`, for one state."""
        layout, places, space = self.layout, self.layout.part_slices(), z.shape[1:]
        columns = []
        for feature in layout.features:
            if feature.part is None:
                columns.append(jnp.ones((1, *space), z.dtype))
            else:
                shifted = shifts(feature.function(z[places[feature.part]]), self.window)
                columns.append(shifted.reshape(-1, *space))
        return jnp.concatenate(columns)

    def filter_matrix(self, theta: dict[str, Array]) -> Array:
        """θ as one matrix that acts on patches, zero where there is no block."""
        layout, widths = self.layout, self._widths()
        named = {(block.target, block.feature): theta[block.name] for block in layout.blocks}
        dtype = jnp.result_type(*theta.values())
        lines = []
        for part, height in layout.parts.items():
            entries = [named.get((part, feature.name)) for feature in layout.features]
            line = [
                jnp.zeros((height, widths[f.name]), dtype) if e is None else e.reshape(height, -1)
                for f, e in zip(layout.features, entries, strict=True)
            ]
            lines.append(jnp.concatenate(line, axis=1))
        return jnp.concatenate(lines)

    def pack(self, theta: dict[str, Array]) -> PackedFilters:
        layout, window = self.layout, (self.window,) * len(self.size)
        named = {(block.target, block.feature): theta[block.name] for block in layout.blocks}
        dtype = jnp.result_type(*theta.values())
        lines, biases = [], []
        for part, height in layout.parts.items():
            line, bias = [], jnp.zeros(height, dtype)
            for feature in layout.features:
                entry, width = named.get((part, feature.name)), layout.feature_size(feature)
                if feature.part is None:
                    bias = bias if entry is None else bias + entry
                elif entry is None:
                    line.append(jnp.zeros((height, width, *window), dtype))
                else:
                    line.append(entry)
            lines.append(jnp.concatenate(line, axis=1))
            biases.append(bias)
        return PackedFilters(filter_product(jnp.concatenate(lines)), jnp.concatenate(biases))

    def unpack(self, packed: PackedFilters) -> dict[str, Array]:
        layout, window = self.layout, (self.window,) * len(self.size)
        varying = [feature for feature in layout.features if feature.part is not None]
        sizes = [layout.feature_size(feature) for feature in varying]
        filters = product_filters(packed.matrix, sum(sizes), layout.state_size, window)
        ends = list(itertools.accumulate(sizes, initial=0))
        columns = {f.name: slice(*ends[i : i + 2]) for i, f in enumerate(varying)}
        places = layout.part_slices()
        return {
            block.name: (
                filters[places[block.target], columns[block.feature]]
                if block.feature in columns
                else packed.bias[places[block.target]]
            )
            for block in layout.blocks
        }

    def pack_states(self, z: Array) -> Array:
        return jnp.moveaxis(z, 1, -1)  # channels last

    def unpack_states(self, packed: Array) -> Array:
        return jnp.moveaxis(packed, -1, 1)

    def batch_velocity(self, z: Array, packed: PackedFilters) -> Array:
        moved = convolve(self._features(z), packed.matrix, self._windows)
        return moved + packed.bias.reshape(*(1,) * (z.ndim - 1), -1)

    def chunk_size(self, z: Array) -> int:
        batch = z.shape[0]
        if default_platform() != "cpu" or not isinstance(batch, int):  # a batch of any size
            return batch
        varying = [feature for feature in self.layout.features if feature.part is not None]
        features = sum(self.layout.feature_size(feature) for feature in varying)
        floats = self.window * max(features, self.layout.state_size) * math.prod(z.shape[1:-1])
        return chunk_size(batch, floats, z.dtype.itemsize)

    def chunked_velocity(self, z: Array, packed: PackedFilters) -> Array:
        chunk = self.chunk_size(z)
        if chunk == z.shape[0]:
            return self.batch_velocity(z, packed)

        def one(features: Array) -> Array:
            moved = convolve(features, packed.matrix, self._windows)
            return moved + packed.bias.reshape(*(1,) * (z.ndim - 1), -1)

        # Features outside of the loop: inside, XLA evaluates activations once for each copy of them.
        return joined(by_chunks(one, chunk, self._features(z)))

    def adjoint(self, q: Array, p: Array) -> dict[str, Array]:
        """$Σ_j L_{q_j}^⊤ p_j$: momenta times shifted features, summed over particles and places."""
        q, p = (self.pack_states(states) for states in (q, p))
        matrix = filter_gradient(self._features(q), p, self._windows)
        return self.unpack(PackedFilters(matrix, jnp.sum(p, axis=tuple(range(p.ndim - 1)))))

    def _features(self, z: Array) -> Array:
        """All features except the constant one, for a batch with its channels last."""
        places = self.layout.part_slices()
        varying = [feature for feature in self.layout.features if feature.part is not None]
        return jnp.concatenate([f.function(z[..., places[str(f.part)]]) for f in varying], axis=-1)

    @property
    def _windows(self) -> tuple[int, ...]:
        return (self.window,) * len(self.size)

    def _widths(self) -> dict[str, int]:
        places = self.window ** len(self.size)
        sizes = {f.name: (f.part, self.layout.feature_size(f)) for f in self.layout.features}
        return {name: n if part is None else n * places for name, (part, n) in sizes.items()}


def shifts(image: Array, window: int) -> Array:
    """`(channels, window**d, *space)`: the image moved to every place of the window."""
    reach, space = window // 2, image.shape[1:]
    padded = jnp.pad(image, [(0, 0), *[(reach, window - 1 - reach)] * len(space)])
    moved = []
    for corner in itertools.product(range(window), repeat=len(space)):
        ends = (c + n for c, n in zip(corner, space, strict=True))
        moved.append(jax.lax.slice(padded, (0, *corner), (image.shape[0], *ends)))
    return jnp.stack(moved, axis=1)


class ConvAffine(AbstractConvField):
    """$f(X, θ) = A * σ(X) + b$, a convolution in one, two or more dimensions.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.ConvAffine(channels=4, size=(6, 6))  # particles of 6×6 pixels
        control = sx.Particles.draw(field, 3, key=jax.random.key(0))
        y = sx.flow(field, control, jax.numpy.ones((2, 4, 8, 8)))  # data of 8×8 pixels
        ```
    """

    dim: int = eqx.field(static=True)
    size: tuple[int, ...] = eqx.field(static=True)
    window: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        channels: int,
        size: tuple[int, ...],
        *,
        window: int = 3,
        activation: str | Activation = "relu",
    ):
        """**Arguments:**

        - `channels`: the number of channels of the image.
        - `size`: the particles' extent in space: `(n,)` in one dimension, `(h, w)` in two.
        - `window`: the extent of the filters. Images are padded with zeros.
        - `activation`: as in [`shootax.UpDown`][].
        """
        self.dim = checks.positive_integer(channels, "channels")
        self.size = checks.extent(size)
        self.window = checks.positive_integer(window, "window")
        self.activation = named_activation(activation)

    @property
    def layout(self) -> Layout:
        return Layout(
            parts={"x": self.dim},
            features=(Feature("s", "x", self.activation), Feature("one", None)),
            blocks=(Block("A", "x", "s"), Block("b", "x", "one")),
        )


class ConvUpDown(AbstractConvField):
    """The UpDown field with convolutions instead of matrices: $\\dot X = θ_1 * σ(V) + b_1$,
    $\\dot V = θ_2 * X + b_2 + θ_3 * σ(V)$, where $V$ has `inflation` times the channels of $X$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.ConvUpDown(channels=1, size=(6, 6), inflation=2)
        net = sx.Net(field, particles=3, key=jax.random.key(0))
        y = net(jax.numpy.ones((2, 1, 8, 8)))
        ```
    """

    dim: int = eqx.field(static=True)
    inflation: int = eqx.field(static=True)
    size: tuple[int, ...] = eqx.field(static=True)
    window: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        channels: int,
        size: tuple[int, ...],
        inflation: int = 2,
        *,
        window: int = 3,
        activation: str | Activation = "relu",
    ):
        """**Arguments:** `inflation` as in [`shootax.UpDown`][]; the rest as in
        [`shootax.ConvAffine`][]."""
        self.dim = checks.positive_integer(channels, "channels")
        self.inflation = checks.positive_integer(inflation, "inflation")
        self.size = checks.extent(size)
        self.window = checks.positive_integer(window, "window")
        self.activation = named_activation(activation)

    @property
    def default_strengths(self) -> Mapping[str, float]:
        return {"theta3": 10.0}

    @property
    def layout(self) -> Layout:
        maps = ("theta1", "x", "s"), ("b1", "x", "one"), ("theta2", "v", "x"), ("b2", "v", "one")
        return Layout(
            parts={"x": self.dim, "v": self.inflation * self.dim},
            features=(
                Feature("x", "x"),
                Feature("s", "v", self.activation),
                Feature("one", None),
            ),
            blocks=(*(Block(*entry) for entry in maps), Block("theta3", "v", "s")),
        )
