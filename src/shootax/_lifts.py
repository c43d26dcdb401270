"""Lifts map one input to the initial state of a field."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._activations import Activation, activation
from shootax._compile import one_off
from shootax._fields import AbstractField, shape


class AbstractLift(eqx.Module):
    """A map from one input to one state.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        class Twice(sx.nn.AbstractLift):
            def __call__(self, x):
                return jnp.concatenate([x, x])

        field, key = sx.UpDown(dim=2, inflation=1), jax.random.key(0)
        net = sx.Net(field, particles=3, lift=Twice(), key=key)
        ```
    """

    @abc.abstractmethod
    def __call__(self, x: Array) -> Array:
        """The initial state for the input `x`."""

    def input_shape(self, field: AbstractField) -> PyTree[jax.ShapeDtypeStruct]:
        """The shape of one input, for a net with this field: by default its visible state."""
        return field.visible_state


def random_affine(
    inputs: int, outputs: int, key: PRNGKeyArray, names: tuple[str, str]
) -> tuple[Array, Array]:
    """Draw a matrix and a vector uniform in $±1/\\sqrt{inputs}$; errors call the sizes `names`."""
    inputs = checks.positive_integer(inputs, names[0])
    outputs = checks.positive_integer(outputs, names[1])
    return _drawn(inputs, outputs, checks.random_key(key))


@one_off
def _drawn(inputs: int, outputs: int, key: PRNGKeyArray) -> tuple[Array, Array]:
    bound = inputs**-0.5
    weight_key, bias_key = jax.random.split(key)
    return (
        jax.random.uniform(weight_key, (outputs, inputs), minval=-bound, maxval=bound),
        jax.random.uniform(bias_key, (outputs,), minval=-bound, maxval=bound),
    )


class IdentityLift(AbstractLift):
    """The input is the state.

    !!! example

        ```python
        import jax
        import shootax as sx

        key = jax.random.key(0)
        net = sx.Net(sx.Affine(dim=2), particles=3, lift=sx.nn.IdentityLift(), key=key)
        ```
    """

    def __call__(self, x: Array) -> Array:
        return x

    def input_shape(self, field: AbstractField) -> PyTree[jax.ShapeDtypeStruct]:
        return field.state


class ZeroLift(AbstractLift):
    """$v(0) = 0$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, lift=sx.nn.ZeroLift(hidden=6), key=key)  # or lift="zero"
        ```
    """

    hidden: int = eqx.field(static=True)

    def __init__(self, hidden: int):
        """**Arguments:** `hidden`, the number of hidden entries, or channels, of the state."""
        self.hidden = checks.positive_integer(hidden, "hidden")

    def __call__(self, x: Array) -> Array:
        return jnp.concatenate([x, jnp.zeros((self.hidden, *x.shape[1:]), x.dtype)])


class ConstantLift(AbstractLift):
    """$v(0) = c$, a learned vector, the same at every pixel of an image.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, lift=sx.nn.ConstantLift(hidden=6), key=key)
        ```
    """

    bias: Float[Array, " hidden"]

    def __init__(self, hidden: int):
        """**Arguments:** `hidden`, the number of hidden entries, or channels, of the state. The
        vector starts at zero."""
        self.bias = jnp.zeros(checks.positive_integer(hidden, "hidden"))

    def __call__(self, x: Array) -> Array:
        bias = self.bias.reshape(-1, *(1,) * (x.ndim - 1))
        return jnp.concatenate([x, jnp.broadcast_to(bias, (len(bias), *x.shape[1:]))])


class AffineLift(AbstractLift):
    """$v(0) = Θ_{12} x(0) + b_{12}$, the paper's choice.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, lift=sx.nn.AffineLift(2, 6, key=key), key=key)
        ```
    """

    weight: Float[Array, "hidden dim"]
    bias: Float[Array, " hidden"]

    def __init__(self, dim: int, hidden: int, *, key: PRNGKeyArray):
        """**Arguments:** the numbers of visible and of hidden entries, or channels, and a JAX random
        `key`. Both parameters start uniform in $±1/\\sqrt{dim}$."""
        self.weight, self.bias = random_affine(dim, hidden, key, ("dim", "hidden"))

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " state"]:
        return jnp.concatenate([x, self.weight @ x + self.bias])


class LinearLift(AbstractLift):
    """$z(0) = W x + c$, the whole state from any number of inputs.

    The number of inputs may differ from the size of the visible state.

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
        self.weight, self.bias = random_affine(inputs, state, key, ("inputs", "state"))

    def __call__(self, x: Float[Array, " inputs"]) -> Float[Array, " state"]:
        return self.weight @ x + self.bias

    def input_shape(self, field: AbstractField) -> PyTree[jax.ShapeDtypeStruct]:
        return shape(self.weight.shape[1])


class ChannelLift(AbstractLift):
    """$v(0) = Θ_{12} x(0) + b_{12}$ at every pixel of an image, the same everywhere.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.ConvUpDown(2, (4, 4), inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, lift=sx.nn.ChannelLift(2, 6, key=key), key=key)
        ```
    """

    weight: Float[Array, "hidden dim"]
    bias: Float[Array, " hidden"]

    def __init__(self, dim: int, hidden: int, *, key: PRNGKeyArray):
        """**Arguments:** the numbers of visible and of hidden entries, or channels, and a JAX random
        `key`. Both parameters start uniform in $±1/\\sqrt{dim}$."""
        self.weight, self.bias = random_affine(dim, hidden, key, ("dim", "hidden"))

    def __call__(self, x: Array) -> Array:
        bias = self.bias.reshape(-1, *(1,) * (x.ndim - 1))
        return jnp.concatenate([x, jnp.tensordot(self.weight, x, axes=1) + bias])


class MLPLift(AbstractLift):
    """$v(0)$ by a small network with one hidden layer.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, lift=sx.nn.MLPLift(2, 6, width=8, key=key), key=key)
        ```
    """

    first: AffineLift
    second: AffineLift
    activation: Activation = eqx.field(static=True)
    dim: int = eqx.field(static=True)

    def __init__(
        self, dim: int, hidden: int, *, width: int = 32, act: str = "tanh", key: PRNGKeyArray
    ):
        """**Arguments:**

        - `dim`, `hidden`: the numbers of visible and of hidden entries of the state.
        - `width`, `act`: the number of neurons and their activation.
        - `key`: a JAX random key.
        """
        keys = jax.random.split(checks.random_key(key))
        self.first = AffineLift(dim, checks.positive_integer(width, "width"), key=keys[0])
        self.second = AffineLift(width, hidden, key=keys[1])
        self.activation = activation(act)
        self.dim = dim

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " state"]:
        inner = self.activation(self.first.weight @ x + self.first.bias)
        return jnp.concatenate([x, self.second.weight @ inner + self.second.bias])


LIFTS = ("affine", "zero", "constant", "mlp", "identity")


def make_lift(lift: AbstractLift | str | None, field: AbstractField, key: PRNGKeyArray):
    """A lift by name. By default the affine one, or the identity if the field has no hidden state."""
    if not (lift is None or isinstance(lift, str)):
        return lift
    visible, hidden = field.visible_size, field.hidden_size
    if lift is not None:
        checks.one_of(lift, LIFTS, "lift")
    if visible is None or hidden == 0:
        if lift not in (None, "identity"):
            raise ValueError(
                f"{type(field).__name__} has no hidden state for a {lift!r} lift to fill. Leave the "
                "lift out, or give a module that maps an input to a state."
            )
        return IdentityLift()
    name, image = lift or "affine", len(field.state.shape) > 1
    if image and name == "mlp":
        raise ValueError(
            f"The states of {type(field).__name__} are images, which the 'mlp' lift does not map. Use "
            "'affine', 'zero' or 'constant', or give a module that maps an input to a state."
        )
    affine = ChannelLift if image else AffineLift
    kinds = {
        "affine": lambda: affine(visible, hidden, key=key),
        "zero": lambda: ZeroLift(hidden),
        "constant": lambda: ConstantLift(hidden),
        "mlp": lambda: MLPLift(visible, hidden, key=key),
        "identity": IdentityLift,
    }
    return kinds[name]()
