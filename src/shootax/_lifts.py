"""Lifts: from an input to the initial state of a field. Each maps one input."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import _checks as checks
from shootax._activations import Activation, activation
from shootax._fields import AbstractBlockField, AbstractConvField, AbstractField


class AbstractLift(eqx.Module):
    """A map from one input to one state."""

    @abc.abstractmethod
    def __call__(self, x: Array) -> Array:
        """The initial state for the input `x`."""


@eqx.filter_jit
def _affine(inputs: int, outputs: int, key: PRNGKeyArray) -> tuple[Array, Array]:
    """A matrix and a vector, both uniform in $±1/\\sqrt{inputs}$."""
    bound = inputs**-0.5
    weight_key, bias_key = jax.random.split(key)
    return (
        jax.random.uniform(weight_key, (outputs, inputs), minval=-bound, maxval=bound),
        jax.random.uniform(bias_key, (outputs,), minval=-bound, maxval=bound),
    )


class IdentityLift(AbstractLift):
    """The input is the state."""

    def __call__(self, x: Array) -> Array:
        return x


class ZeroLift(AbstractLift):
    """$v(0) = 0$."""

    hidden: int = eqx.field(static=True)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " state"]:
        return jnp.concatenate([x, jnp.zeros(self.hidden, x.dtype)])


class ConstantLift(AbstractLift):
    """$v(0) = c$, a learned vector."""

    bias: Float[Array, " hidden"]

    def __init__(self, hidden: int):
        self.bias = jnp.zeros(hidden)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " state"]:
        return jnp.concatenate([x, self.bias])


class AffineLift(AbstractLift):
    """$v(0) = Θ_{12} x(0) + b_{12}$, the paper's choice."""

    weight: Float[Array, "hidden dim"]
    bias: Float[Array, " hidden"]

    def __init__(self, dim: int, hidden: int, *, key: PRNGKeyArray):
        """Both start uniform in $±1/\\sqrt{dim}$."""
        self.weight, self.bias = _affine(dim, hidden, key)

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " state"]:
        return jnp.concatenate([x, self.weight @ x + self.bias])


class LinearLift(AbstractLift):
    """$z(0) = W x + c$, the whole state from any number of inputs.

    With it the number of inputs need not be the size of the visible state.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        key = jax.random.key(0)
        field = sx.UpDown(dim=3, inflation=2)
        net = sx.Net(field, particles=4, lift=sx.nn.LinearLift(10, 9, key=key), readout=1, key=key)
        print(net(jnp.ones((5, 10))).shape)  # (5, 1)
        ```
    """

    weight: Float[Array, "state inputs"]
    bias: Float[Array, " state"]

    def __init__(self, inputs: int, state: int, *, key: PRNGKeyArray):
        """**Arguments:** the numbers of inputs and of scalars of the state. Both parameters start
        uniform in $±1/\\sqrt{inputs}$."""
        inputs, state = (
            checks.positive_integer(inputs, "inputs"),
            checks.positive_integer(state, "state"),
        )
        self.weight, self.bias = _affine(inputs, state, key)

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " state"]:
        return self.weight @ x + self.bias


class ChannelLift(AbstractLift):
    """$v(0) = Θ_{12} x(0) + b_{12}$ in every place of an image, the same everywhere."""

    weight: Float[Array, "hidden dim"]
    bias: Float[Array, " hidden"]

    def __init__(self, dim: int, hidden: int, *, key: PRNGKeyArray):
        """Both start uniform in $±1/\\sqrt{dim}$."""
        self.weight, self.bias = _affine(dim, hidden, key)

    def __call__(self, x: Array) -> Array:
        bias = self.bias.reshape(-1, *(1,) * (x.ndim - 1))
        return jnp.concatenate([x, jnp.tensordot(self.weight, x, axes=1) + bias])


class MLPLift(AbstractLift):
    """$v(0)$ by a small network with one hidden layer."""

    first: AffineLift
    second: AffineLift
    activation: Activation = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self, dim: int, hidden: int, *, width: int = 32, act: str = "tanh", key: PRNGKeyArray
    ):
        keys = jax.random.split(key)
        self.first = AffineLift(dim, checks.positive_integer(width, "width"), key=keys[0])
        self.second = AffineLift(width, hidden, key=keys[1])
        self.activation = activation(act)
        self.dim = dim

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " state"]:
        inner = self.activation(self.first.weight @ x + self.first.bias)
        return jnp.concatenate([x, self.second.weight @ inner + self.second.bias])


LIFTS = ("affine", "zero", "constant", "mlp", "identity")


def make_lift(lift: AbstractLift | str | None, field: AbstractField, key: PRNGKeyArray):
    """A lift by name. By default the affine one, or none where the field has no hidden state."""
    if not (lift is None or isinstance(lift, str)):
        return lift
    if isinstance(field, AbstractConvField) and field.hidden > 0 and lift in (None, "affine"):
        return ChannelLift(field.dim, field.hidden, key=key)
    if not isinstance(field, AbstractBlockField) or field.hidden == 0:
        if lift not in (None, "identity"):
            raise ValueError(
                f"{type(field).__name__} has no hidden state for a {lift!r} lift to fill."
            )
        return IdentityLift()
    kinds = {
        "affine": lambda: AffineLift(field.dim, field.hidden, key=key),
        "zero": lambda: ZeroLift(field.hidden),
        "constant": lambda: ConstantLift(field.hidden),
        "mlp": lambda: MLPLift(field.dim, field.hidden, key=key),
        "identity": IdentityLift,
    }
    return kinds[checks.one_of(lift or "affine", LIFTS, "lift")]()
