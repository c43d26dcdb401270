"""More fields linear in θ, each a short table."""

from collections.abc import Mapping

import equinox as eqx
import jax.numpy as jnp

from shootax import _checks as checks
from shootax._activations import Activation, identity
from shootax._activations import activation as named_activation
from shootax._fields.block import AbstractBlockField, Block, Feature, Layout


class GeneralUpDown(AbstractBlockField):
    """All eight linear maps from $x, σ(x), v, σ(v)$ to $\\dot x, \\dot v$, and two biases.

    $$\\dot x = θ_{xx} x + θ_{xs} σ(x) + θ_{xv} v + θ_{xu} σ(v) + b_x, \\qquad
    \\dot v = θ_{vx} x + θ_{vs} σ(x) + θ_{vv} v + θ_{vu} σ(v) + b_v.$$

    [`shootax.UpDown`][] has three of them: $θ_{xu}$, $θ_{vx}$ and $θ_{vu}$.

    !!! example

        ```python
        import shootax as sx

        field = sx.GeneralUpDown(dim=2, inflation=4)
        print(len(field.theta))  # 10
        ```
    """

    dim: int = eqx.field(static=True)
    inflation: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(self, dim: int, inflation: int = 16, *, activation: str | Activation = "relu"):
        """**Arguments:** as in [`shootax.UpDown`][]."""
        self.dim = checks.positive_integer(dim, "dim")
        self.inflation = checks.positive_integer(inflation, "inflation")
        self.activation = named_activation(activation)

    @property
    def layout(self) -> Layout:
        features = (
            Feature("x", "x", identity),
            Feature("s", "x", self.activation),
            Feature("v", "v", identity),
            Feature("u", "v", self.activation),
            Feature("one", None),
        )
        maps = [Block(f"theta_{a}{f}", a, f) for a in "xv" for f in "xsvu"]
        return Layout(
            parts={"x": self.dim, "v": self.inflation * self.dim},
            features=features,
            blocks=(*maps, Block("b_x", "x", "one"), Block("b_v", "v", "one")),
        )


class DampedUpDown(AbstractBlockField):
    """UpDown whose hidden state decays by itself: $\\dot v = θ_2 x + b_2 + θ_3 σ(v) - c v$.

    The decay is free of θ, so the Hamiltonian is conserved but the penalty is not. The penalty is
    integrated along the path.

    !!! example

        ```python
        import shootax as sx

        field = sx.DampedUpDown(dim=2, inflation=4, damping=0.5)
        print(sx.linearity(field))  # affine
        ```
    """

    dim: int = eqx.field(static=True)
    inflation: int = eqx.field(static=True)
    damping: float = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        inflation: int = 16,
        *,
        damping: float = 1.0,
        activation: str | Activation = "relu",
    ):
        """**Arguments:** `damping`, the rate $c$; the rest as in [`shootax.UpDown`][]."""
        self.dim = checks.positive_integer(dim, "dim")
        self.inflation = checks.positive_integer(inflation, "inflation")
        self.damping = checks.positive_number(damping, "damping")
        self.activation = named_activation(activation)

    @property
    def default_strengths(self) -> Mapping[str, float]:
        return {"theta3": 10.0}

    @property
    def layout(self) -> Layout:
        maps = ("theta1", "x", "s"), ("b1", "x", "one"), ("theta2", "v", "x"), ("b2", "v", "one")
        features = Feature("x", "x"), Feature("s", "v", self.activation), Feature("one", None)
        return Layout(
            parts={"x": self.dim, "v": self.inflation * self.dim},
            features=features,
            blocks=(*(Block(*entry) for entry in maps), Block("theta3", "v", "s")),
            damping=(("v", self.damping),),
        )


class Periodic(AbstractBlockField):
    """$f(x, θ) = A \\cos x + B \\sin x + b$: a field on the torus, of period $2π$ in every entry.

    !!! example

        ```python
        import shootax as sx

        field = sx.Periodic(dim=2)
        print(field.theta["A"].shape)  # (2, 2)
        ```
    """

    dim: int = eqx.field(static=True)

    def __init__(self, dim: int):
        """**Arguments:** `dim`, the size of the state."""
        self.dim = checks.positive_integer(dim, "dim")

    @property
    def layout(self) -> Layout:
        return Layout(
            parts={"x": self.dim},
            features=(
                Feature("cos", "x", jnp.cos),
                Feature("sin", "x", jnp.sin),
                Feature("one", None),
            ),
            blocks=(Block("A", "x", "cos"), Block("B", "x", "sin"), Block("b", "x", "one")),
        )


class BlockSparse(AbstractBlockField):
    """$f(x, θ) = A σ(x) + b$ with a block-sparse $A$: only linked groups of entries interact.

    !!! example

        ```python
        import shootax as sx

        chain = [(i, j) for i in range(4) for j in range(4) if abs(i - j) <= 1]
        field = sx.BlockSparse(groups=(2, 2, 2, 2), links=chain)
        print(len(field.theta))  # 10 blocks of A and 4 of b
        ```
    """

    dim: int = eqx.field(static=True)
    groups: tuple[int, ...] = eqx.field(static=True)
    links: tuple[tuple[int, int], ...] = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(self, groups, links=None, *, activation: str | Activation = "relu"):
        """**Arguments:**

        - `groups`: the sizes of the groups that the state is divided into.
        - `links`: pairs $(i, j)$: group $j$ acts on group $i$. By default each acts only on itself.
        - `activation`: as in [`shootax.UpDown`][].
        """
        groups = checks.sequence(groups, "groups", "groups=(2, 2)")
        self.groups = tuple(checks.positive_integer(size, "The size of a group") for size in groups)
        count = len(self.groups)
        if links is None:
            links = [(i, i) for i in range(count)]
        pairs = checks.sequence(links, "links", "links=[(0, 0), (0, 1)]")
        if not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
            raise ValueError(f"links must be pairs, as in [(0, 0), (0, 1)]; got {links!r}.")
        self.links = tuple(
            (checks.non_negative_integer(i, "A link"), checks.non_negative_integer(j, "A link"))
            for i, j in pairs
        )
        if not all(i < count and j < count for i, j in self.links):
            raise ValueError(
                f"links must be pairs of group indices from 0 to {count - 1}; got {self.links}."
            )
        self.dim = sum(self.groups)
        self.activation = named_activation(activation)

    @property
    def layout(self) -> Layout:
        numbers = range(len(self.groups))
        maps = [Block(f"A{i}_{j}", f"x{i}", f"s{j}") for i, j in self.links]
        return Layout(
            parts={f"x{i}": size for i, size in enumerate(self.groups)},
            features=(
                *(Feature(f"s{j}", f"x{j}", self.activation) for j in numbers),
                Feature("one", None),
            ),
            blocks=(*maps, *(Block(f"b{i}", f"x{i}", "one") for i in numbers)),
        )
