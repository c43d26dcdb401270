"""The UpDown field of the paper."""

import math
from collections.abc import Mapping

import equinox as eqx

from shootax import _checks as checks
from shootax._activations import Activation, identity
from shootax._activations import activation as named_activation
from shootax._fields.block import AbstractBlockField, Block, Feature, Layout


class UpDown(AbstractBlockField):
    """The UpDown field (Eq. updownODE), with state $z = (x, v)$, $x ∈ R^d$, $v ∈ R^{αd}$:

    $$\\dot x = θ_1 σ(v) + b_1, \\qquad \\dot v = θ_2 x + b_2 + θ_3 σ(v).$$

    !!! example

        ```python
        import shootax as sx

        field = sx.UpDown(dim=2, inflation=16)
        print(field.state.shape)  # (34,)
        ```
    """

    dim: int = eqx.field(static=True)
    inflation: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    theta3: bool = eqx.field(static=True)

    def __init__(
        self,
        dim: int,
        inflation: int = 16,
        *,
        activation: str | Activation = "relu",
        theta3: bool = True,
    ):
        """**Arguments:**

        - `dim`: the size $d$ of the visible state $x$.
        - `inflation`: the factor $α$; the hidden state $v$ has size $αd$. With `inflation=1` and
            `theta3=False` this is the second-order model.
        - `activation`: a name (`"relu"`, `"tanh"`, `"softplus"`, `"sigmoid"`, `"gelu"`,
            `"identity"`) or an elementwise function.
        - `theta3`: whether to include the term $θ_3 σ(v)$.
        """
        self.dim = checks.positive_integer(dim, "dim")
        self.inflation = checks.positive_integer(inflation, "inflation")
        self.activation = named_activation(activation)
        self.theta3 = checks.boolean(theta3, "theta3")

    @property
    def default_strengths(self) -> Mapping[str, float]:
        return {"theta3": 10.0} if self.theta3 else {}

    def default_momentum(self, particles: int) -> float:
        # Initial velocities are sums over particles and hidden entries. They should be of order one for
        # all sizes: with much smaller ones, training gets stuck for some seeds.
        hidden = self.inflation * self.dim
        return min(0.3, 2 * min(1.0, 16 / hidden) / math.sqrt(particles * self.dim))

    @property
    def layout(self) -> Layout:
        blocks = (
            Block("theta1", "x", "s"),
            Block("b1", "x", "one"),
            Block("theta2", "v", "x"),
            Block("b2", "v", "one"),
        )
        return Layout(
            parts={"x": self.dim, "v": self.inflation * self.dim},
            features=(
                Feature("x", "x", identity),
                Feature("s", "v", self.activation),
                Feature("one", None),
            ),
            blocks=(*blocks, Block("theta3", "v", "s")) if self.theta3 else blocks,
        )
