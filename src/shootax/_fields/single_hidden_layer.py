"""The single hidden layer, whose weights enter nonlinearly."""

from typing import TYPE_CHECKING

import equinox as eqx
import jax
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._activations import Activation
from shootax._activations import activation as named_activation
from shootax._fields.base import AbstractField, HiddenLayer, Linearity, shape

if TYPE_CHECKING:
    from shootax._maximisers import AbstractMaximiser
    from shootax._penalties import Penalty


class SingleHiddenLayer(AbstractField):
    """$f(x, θ) = θ_1 σ(θ_2 x + b_2) + b_1$ (Eq. Eq:SingleHiddenLayer).

    It is nonlinear in θ, so θ* is found by an inner maximisation. With a quadratic penalty and an odd
    σ such as tanh, small momenta give zero weights, so let momenta start large (`momentum=1.0`). With a
    quadratic penalty and ReLU, the weights are zero until H becomes unbounded, so use
    [`shootax.Barron`][] with ReLU.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=2, width=8)
        control = sx.Particles.draw(field, 10, momentum=1.0, key=jax.random.key(0))
        ```
    """

    dim: int = eqx.field(static=True)
    width: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)
    bias: bool = eqx.field(static=True)

    def __init__(
        self, dim: int, width: int, *, activation: str | Activation = "tanh", bias: bool = True
    ):
        """**Arguments:**

        - `dim`: the size of the state.
        - `width`: the number $d'$ of neurons.
        - `activation`: a name or an elementwise function, as in [`shootax.UpDown`][].
        - `bias`: whether there is an outer bias $b_1$.
        """
        self.dim = checks.positive_integer(dim, "dim")
        self.width = checks.positive_integer(width, "width")
        self.activation = named_activation(activation)
        self.bias = checks.boolean(bias, "bias")

    @property
    def state(self) -> jax.ShapeDtypeStruct:
        return shape(self.dim)

    @property
    def theta(self) -> dict[str, jax.ShapeDtypeStruct]:
        weights = {
            "theta1": shape(self.dim, self.width),
            "theta2": shape(self.width, self.dim),
            "b2": shape(self.width),
        }
        return {**weights, "b1": shape(self.dim)} if self.bias else weights

    def __call__(self, z: Float[Array, " dim"], theta: dict[str, Array]) -> Float[Array, " dim"]:
        inner = self.activation(theta["theta2"] @ z + theta["b2"])
        velocity = theta["theta1"] @ inner
        return velocity + theta["b1"] if self.bias else velocity

    @property
    def known_linearity(self) -> Linearity:
        return "nonlinear"

    def as_hidden_layer(self) -> HiddenLayer:
        return HiddenLayer(self.dim, self.width, self.activation, self.bias)

    def default_maximiser(self, penalty: "Penalty") -> "AbstractMaximiser":
        """Neuron by neuron if the penalty allows it."""
        from shootax._maximisers import Newton, PerNeuron, Unrolled, VertexSearch
        from shootax._penalties import Barron

        if isinstance(penalty, Barron):  # not smooth, so not for Newton's method
            return VertexSearch() if VertexSearch.suits(self, penalty) else Unrolled()
        return PerNeuron() if PerNeuron.suits(self, penalty) else Newton()
