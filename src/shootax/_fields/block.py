"""Fields $f(z, θ) = Θ φ(z)$ that are linear in θ, described by their blocks.

The state is one vector made of named *parts*. Elementwise *features* of the parts, and the constant
feature, make up φ(z). Each entry of θ is a *block* of the matrix Θ: it maps one feature to the velocity
of one part. Such a field is thus a short table. The direct evaluation, the packed product $Θφ$, and the
kernel form, which never builds Θ, all follow from it.
"""

import abc
import dataclasses
from collections.abc import Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._activations import Activation, identity
from shootax._fields.base import AbstractField, Linearity, shape


@dataclasses.dataclass(frozen=True)
class Feature:
    """An elementwise function of a part of the state; without a part, the constant feature.

    **Arguments:**

    - `name`: the name of the feature.
    - `part`: the part of the state that it is a function of, or `None`.
    - `function`: an elementwise function.

    !!! example

        ```python
        import jax.numpy as jnp
        from shootax.extend import Feature

        wave, constant = Feature("wave", "x", jnp.sin), Feature("one", None)
        ```
    """

    name: str
    part: str | None
    function: Activation = identity


@dataclasses.dataclass(frozen=True)
class Block:
    """One entry of θ: it maps `feature` to the velocity of the part `target`.

    **Arguments:**

    - `name`: the name of the entry of θ.
    - `target`: the part of the state that it moves.
    - `feature`: the feature that it acts on.

    !!! example

        ```python
        from shootax.extend import Block

        matrix, bias = Block("A", "x", "wave"), Block("b", "x", "one")
        ```
    """

    name: str
    target: str
    feature: str


@dataclasses.dataclass(frozen=True)
class Layout:
    """The table that describes a block field.

    **Arguments:**

    - `parts`: the sizes of the parts of the state, by name. Data enter the first one.
    - `features`, `blocks`: the features, and the entries of θ.
    - `damping`: the decay rates of the parts that decay by themselves, by name.

    !!! example

        ```python
        from shootax.extend import Block, Feature, Layout

        layout = Layout(
            parts={"x": 2},
            features=(Feature("x", "x"), Feature("one", None)),
            blocks=(Block("A", "x", "x"), Block("b", "x", "one")),
        )
        print(layout.part_slices())
        ```
    """

    parts: Mapping[str, int]
    features: tuple[Feature, ...]
    blocks: tuple[Block, ...]
    damping: tuple[tuple[str, float], ...] = ()

    def __post_init__(self):
        if not isinstance(self.parts, Mapping) or not self.parts:
            raise TypeError(
                'parts must be a dictionary of sizes, as in {"x": 2}; got '
                f"{checks.shown(self.parts)}."
            )
        for part, size in self.parts.items():
            checks.positive_integer(size, f"The size of part {part!r}")
        for feature in checks.sequence(self.features, "features", '(Feature("x", "x"),)'):
            checks.instance(feature, Feature, "Each of features", 'Feature("x", "x")')
            if feature.part is not None:
                checks.one_of(feature.part, self.parts, f"part of the feature {feature.name!r}:")
        names = {feature.name for feature in self.features}
        for block in checks.sequence(self.blocks, "blocks", '(Block("A", "x", "x"),)'):
            checks.instance(block, Block, "Each of blocks", 'Block("A", "x", "x")')
            checks.one_of(block.target, self.parts, f"target of the block {block.name!r}:")
            checks.one_of(block.feature, names, f"feature of the block {block.name!r}:")

    def __hash__(self) -> int:
        return hash((tuple(self.parts.items()), self.features, self.blocks, self.damping))

    @property
    def state_size(self) -> int:
        return sum(self.parts.values())

    def feature_size(self, feature: Feature) -> int:
        return 1 if feature.part is None else self.parts[feature.part]

    def part_slices(self) -> dict[str, slice]:
        """The slice of each part in the state."""
        return _slices(self.parts)

    def feature_slices(self) -> dict[str, slice]:
        """The slice of each feature in φ."""
        return _slices({feature.name: self.feature_size(feature) for feature in self.features})


def _slices(sizes: Mapping[str, int]) -> dict[str, slice]:
    out, start = {}, 0
    for name, length in sizes.items():
        out[name] = slice(start, start + length)
        start += length
    return out


class AbstractBlockField(AbstractField):
    """A field given by a [`Layout`][shootax.extend.Layout]; subclasses supply only that.

    `dim` is the size of the first part of the state, the visible one: data enter and leave there.

    !!! example

        ```python
        import equinox as eqx
        import jax.numpy as jnp
        import shootax as sx
        from shootax.extend import Block, Feature, Layout

        class Sine(sx.extend.AbstractBlockField):
            dim: int = eqx.field(static=True)

            @property
            def layout(self):
                return Layout(
                    parts={"x": self.dim},
                    features=(Feature("s", "x", jnp.sin), Feature("one", None)),
                    blocks=(Block("A", "x", "s"), Block("b", "x", "one")),
                )

        print(sx.linearity(Sine(3)))  # linear
        ```
    """

    dim: eqx.AbstractVar[int]

    @property
    @abc.abstractmethod
    def layout(self) -> Layout:
        """Parts, features and blocks."""

    @property
    def visible_size(self) -> int:
        return self.dim

    @property
    def known_linearity(self) -> Linearity:
        return "affine" if self.layout.damping else "linear"

    def as_blocks(self) -> "AbstractBlockField":
        return self

    @property
    def state(self) -> jax.ShapeDtypeStruct:
        return shape(self.layout.state_size)

    @property
    def theta(self) -> dict[str, jax.ShapeDtypeStruct]:
        layout = self.layout
        features = {feature.name: feature for feature in layout.features}
        out = {}
        for block in layout.blocks:
            feature, target = features[block.feature], layout.parts[block.target]
            source = () if feature.part is None else (layout.parts[feature.part],)
            out[block.name] = shape(target, *source)
        return out

    def __call__(
        self, z: Float[Array, " state"], theta: dict[str, Array]
    ) -> Float[Array, " state"]:
        layout, places = self.layout, self.layout.part_slices()
        features = {feature.name: feature for feature in layout.features}
        velocity = {part: jnp.zeros_like(z[places[part]]) for part in layout.parts}
        for block in layout.blocks:
            feature, weight = features[block.feature], theta[block.name]
            if feature.part is not None:
                weight = weight @ feature.function(z[places[feature.part]])
            velocity[block.target] = velocity[block.target] + weight
        for part, decay in layout.damping:
            velocity[part] = velocity[part] - decay * z[places[part]]
        return jnp.concatenate(list(velocity.values()))

    def damping_vector(self) -> Float[Array, " state"]:
        """The rate at which each entry of the state decays by itself."""
        places, rates = self.layout.part_slices(), np.zeros(self.layout.state_size)
        for part, decay in self.layout.damping:
            rates[places[part]] = decay
        return jnp.asarray(rates, jnp.result_type(float))

    def features(self, z: Float[Array, "batch state"]) -> Float[Array, "batch features"]:
        """φ(z) for many states, all features side by side."""
        layout, places = self.layout, self.layout.part_slices()
        columns = []
        for feature in layout.features:
            if feature.part is None:
                columns.append(jnp.ones((z.shape[0], 1), z.dtype))
            else:
                columns.append(feature.function(z[:, places[feature.part]]))
        return jnp.concatenate(columns, axis=1)

    def pack(self, theta: dict[str, Array]) -> Float[Array, "state features"]:
        """The matrix Θ with the blocks of `theta` in their places and zeros elsewhere."""
        layout = self.layout
        named = {(block.target, block.feature): theta[block.name] for block in layout.blocks}
        dtype = jnp.result_type(*theta.values())
        lines = []
        for part, height in layout.parts.items():
            line = []
            for feature in layout.features:
                entry = named.get((part, feature.name))
                size = (height, layout.feature_size(feature))
                line.append(jnp.zeros(size, dtype) if entry is None else entry.reshape(size))
            lines.append(jnp.concatenate(line, axis=1))
        return jnp.concatenate(lines, axis=0)

    def unpack(self, matrix: Float[Array, "state features"]) -> dict[str, Array]:
        """The blocks of a matrix Θ, by name."""
        parts, features = self.layout.part_slices(), self.layout.feature_slices()
        shapes = self.theta
        return {
            block.name: matrix[parts[block.target], features[block.feature]].reshape(
                shapes[block.name].shape
            )
            for block in self.layout.blocks
        }

    def batch_velocity(
        self, z: Float[Array, "batch state"], packed: Float[Array, "state features"]
    ) -> Float[Array, "batch state"]:
        """One product $φ(z) Θ^⊤$ for the whole batch."""
        out = self.features(z) @ packed.T
        if not self.layout.damping:
            return out
        return out - self.damping_vector()[None].astype(z.dtype) * z
