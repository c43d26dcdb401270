"""An encoder or decoder for sequences of vectors."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import _checks as checks
from shootax._arrays import model_inputs
from shootax.nn._layers import he_normal


class MLP(eqx.Module):
    """A network with one hidden layer of ReLUs, for a batch.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        encoder = sx.nn.MLP(6, 16, 2, key=jax.random.key(0))
        print(encoder(jnp.ones((5, 2, 3))).shape)  # (5, 2)
        ```
    """

    first: Float[Array, "inputs hidden"]
    second: Float[Array, "hidden outputs"]
    bias: Float[Array, " hidden"]
    shift: Float[Array, " outputs"]

    def __init__(self, inputs: int, hidden: int, outputs: int, *, key: PRNGKeyArray):
        """**Arguments:**

        - `inputs`, `hidden`, `outputs`: the numbers of inputs, hidden units and outputs.
        - `key`: a JAX random key.
        """
        for number, name in ((inputs, "inputs"), (hidden, "hidden"), (outputs, "outputs")):
            checks.positive_integer(number, name)
        keys = jax.random.split(checks.random_key(key))
        self.first = he_normal(keys[0], (inputs, hidden), inputs)
        self.second = jax.random.normal(keys[1], (hidden, outputs)) / jnp.sqrt(hidden)
        self.bias, self.shift = jnp.zeros(hidden), jnp.zeros(outputs)

    def __call__(self, x: Float[Array, "batch *shape"]) -> Float[Array, "batch outputs"]:
        """Apply the network. All axes of `x` after the first are flattened into one."""
        x = model_inputs(x, self.first.dtype)
        if math.prod(x.shape[1:]) != self.first.shape[0]:
            raise ValueError(
                f"The input must have {self.first.shape[0]} numbers per sample, got shape {x.shape}."
            )
        hidden = jax.nn.relu(x.reshape(x.shape[0], -1) @ self.first + self.bias.reshape(1, -1))
        return hidden @ self.second + self.shift.reshape(1, -1)
