"""The affine field."""

import equinox as eqx

from shootax import _checks as checks
from shootax._activations import Activation
from shootax._activations import activation as named_activation
from shootax._fields.block import AbstractBlockField, Block, Feature, Layout


class Affine(AbstractBlockField):
    """The affine field (Eq. EqAffineVectorField): $f(x, θ) = A σ(x) + b$, $θ = (A, b)$.

    !!! example

        ```python
        import shootax as sx

        field = sx.Affine(dim=3, activation="tanh")
        print(field.theta["A"].shape)  # (3, 3)
        ```
    """

    dim: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(self, dim: int, activation: str | Activation = "relu"):
        """**Arguments:**

        - `dim`: size of the state.
        - `activation`: a name (`"relu"`, `"tanh"`, `"softplus"`, `"sigmoid"`, `"gelu"`,
            `"identity"`) or an elementwise function.
        """
        self.dim = checks.positive_integer(dim, "dim")
        self.activation = named_activation(activation)

    @property
    def layout(self) -> Layout:
        return Layout(
            parts={"x": self.dim},
            features=(Feature("s", "x", self.activation), Feature("one", None)),
            blocks=(Block("A", "x", "s"), Block("b", "x", "one")),
        )
