"""A field from a plain function, and the check that any field is well formed."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from shootax._fields.base import AbstractField, shape


class FunctionField(AbstractField):
    """The field $f(z, θ)$ given by a plain function.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        def swirl(z, theta):
            return theta["turn"] * jnp.stack([-z[1], z[0]]) + theta["push"]

        field = sx.FunctionField(swirl, state=sx.shape(2),
                                 theta={"turn": sx.shape(), "push": jnp.zeros(2)})
        print(sx.linearity(field))  # linear
        ```
    """

    function: Callable[[Any, Any], Any]
    _state: tuple[Any, Any] = eqx.field(static=True)
    _theta: tuple[Any, Any] = eqx.field(static=True)

    def __init__(
        self, function: Callable[[Any, Any], Any], *, state: PyTree[Any], theta: PyTree[Any]
    ):
        """**Arguments:**

        - `function`: takes one state and one θ, and returns the velocity of that state.
        - `state`, `theta`: pytrees of shapes, or of arrays or numbers to take the shapes of.
        """
        self.function = function
        self._state = _template(state)
        self._theta = _template(theta)
        check_field(self)

    @property
    def state(self) -> PyTree[jax.ShapeDtypeStruct]:
        leaves, tree = self._state
        return jax.tree.unflatten(tree, leaves)

    @property
    def theta(self) -> PyTree[jax.ShapeDtypeStruct]:
        leaves, tree = self._theta
        return jax.tree.unflatten(tree, leaves)

    def __call__(self, z: PyTree[Array], theta: PyTree[Array]) -> PyTree[Array]:
        return self.function(z, theta)


def check_field(field: AbstractField) -> None:
    """Raises unless `f` returns a velocity of the same structure and shapes as the state."""
    dtype = jnp.result_type(float)
    z, theta = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), (field.state, field.theta)
    )
    velocity = jax.eval_shape(lambda z, theta: field(z, theta), z, theta)
    want, got = jax.tree.flatten(field.state), jax.tree.flatten(velocity)
    shapes = [[leaf.shape for leaf in leaves] for leaves, _ in (want, got)]
    if want[1] == got[1] and shapes[0] == shapes[1]:
        return
    expected = jax.tree.map(lambda leaf: leaf.shape, field.state)
    returned = jax.tree.map(lambda leaf: leaf.shape, velocity)
    raise ValueError(
        f"{_name(field)} must return a velocity shaped like its state: expected {expected}, got "
        f"{returned}. f takes one state (no batch axis) and one θ; return one entry for each entry "
        "of the state, in the same containers."
    )


def _name(field: AbstractField) -> str:
    if isinstance(field, FunctionField):
        return getattr(field.function, "__name__", "The function")
    return type(field).__name__


def _template(tree: PyTree[Any]) -> tuple[Any, Any]:
    leaves, structure = jax.tree.flatten(tree)
    return tuple(shape(*np.shape(leaf)) for leaf in leaves), structure
