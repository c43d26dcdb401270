"""A field from a plain function."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import numpy as np
from jaxtyping import Array, PyTree

from shootax import _checks as checks
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

        - `function`: a function of one state and one θ that returns the velocity of that state.
        - `state`, `theta`: pytrees of shapes, or of arrays or numbers whose shapes are used.
        """
        self.function = checks.function(
            function, "function", "a function of one state and one θ, as in f(z, theta)"
        )
        self._state = _template(state, "state")
        self._theta = _template(theta, "theta")
        self.check_velocity()

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

    def describe(self) -> str:
        return getattr(self.function, "__name__", "The function")


def _template(tree: PyTree[Any], name: str) -> tuple[Any, Any]:
    leaves, structure = jax.tree.flatten(tree)
    kinds = jax.ShapeDtypeStruct | jax.Array | np.ndarray | np.generic | int | float
    if (name == "state" and not leaves) or not all(isinstance(leaf, kinds) for leaf in leaves):
        raise TypeError(
            f"{name} must be shapes, or arrays to take the shapes of, as in {name}=sx.shape(2) or "
            f'{name}={{"a": sx.shape(2)}}; got {checks.shown(tree)}.'
        )
    return tuple(shape(*np.shape(leaf)) for leaf in leaves), structure
