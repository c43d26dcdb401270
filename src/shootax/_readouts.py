"""Readouts map one final state to an output."""

import abc

import equinox as eqx
import jax
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import _checks as checks
from shootax._fields import AbstractField
from shootax._lifts import random_affine


class AbstractReadout(eqx.Module):
    """A map from one state to one output.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        class Norm(sx.nn.AbstractReadout):
            def __call__(self, z):
                return jnp.linalg.norm(z)

        net = sx.Net(sx.Affine(dim=2), particles=3, readout=Norm(), key=jax.random.key(0))
        ```
    """

    @abc.abstractmethod
    def __call__(self, z: Array) -> Array:
        """The output for the state `z`."""


class IdentityReadout(AbstractReadout):
    """The whole state.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, readout=sx.nn.IdentityReadout(), key=key)
        ```
    """

    def __call__(self, z: Array) -> Array:
        return z


class VisibleReadout(AbstractReadout):
    """The visible part $x$ of the state.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, readout=sx.nn.VisibleReadout(2), key=key)
        ```
    """

    dim: int = eqx.field(static=True)

    def __init__(self, dim: int):
        """**Arguments:** `dim`, the number of visible entries, or channels, of the state."""
        self.dim = checks.positive_integer(dim, "dim")

    def __call__(self, z: Float[Array, " state"]) -> Float[Array, " dim"]:
        return z[: self.dim]


class LinearReadout(AbstractReadout):
    """$W x + c$ on the visible part $x$ of the state.

    !!! example

        ```python
        import jax
        import shootax as sx

        field, key = sx.UpDown(dim=2, inflation=3), jax.random.key(0)
        net = sx.Net(field, particles=3, readout=sx.nn.LinearReadout(2, 5, key=key), key=key)
        ```
    """

    weight: Float[Array, "out dim"]
    bias: Float[Array, " out"]

    def __init__(self, dim: int, out: int, *, key: PRNGKeyArray):
        """**Arguments:** the numbers of visible entries of the state and of outputs, and a JAX random
        `key`. Both parameters start uniform in $±1/\\sqrt{dim}$."""
        self.weight, self.bias = random_affine(dim, out, key, ("dim", "out"))

    def __call__(self, z: Float[Array, " state"]) -> Float[Array, " out"]:
        return self.weight @ z[: self.weight.shape[1]] + self.bias


READOUTS = ("x", "identity")


def make_readout(readout, field: AbstractField, key: PRNGKeyArray):
    """A readout by name, or by the number of outputs of a linear one; a module is returned unchanged."""
    visible = field.visible_size if field.hidden_size > 0 else None
    if readout is None:
        readout = "identity" if visible is None else "x"
    if isinstance(readout, int):
        state = field.state
        if not isinstance(state, jax.ShapeDtypeStruct) or len(state.shape) != 1:
            raise ValueError(
                f"A linear readout needs a field whose state is one vector, got "
                f"{type(field).__name__}. Give a module that maps a state to an output."
            )
        return LinearReadout(state.shape[0] if visible is None else visible, readout, key=key)
    if isinstance(readout, str):
        checks.one_of(readout, READOUTS, "readout")
        if readout == "identity" or visible is None:
            return IdentityReadout()
        return VisibleReadout(visible)
    return readout
