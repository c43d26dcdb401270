"""The right-hand side $f(z, θ)$ of a continuous-depth network."""

import abc
from typing import TYPE_CHECKING, Any, cast

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree


def shape(*size: int) -> jax.ShapeDtypeStruct:
    """The shape of one array of a state or of θ: `shape(3)` is a vector, `shape(2, 3)` a matrix."""
    return jax.ShapeDtypeStruct(size, jnp.float32)


class AbstractField(eqx.Module):
    """A vector field $\\dot z = f(z, θ)$.

    A field says three things: the `state` and the `theta` it works on, as pytrees of shapes, and
    `f` itself for *one* state. The equations of shooting follow from these by differentiation.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        class Rotor(sx.AbstractField):
            state = sx.shape(2)
            theta = {"speed": sx.shape(), "push": sx.shape(2)}

            def __call__(self, z, theta):
                turned = jnp.stack([-z[1], z[0]])
                return theta["speed"] * turned + theta["push"]
        ```
    """

    # The shapes of one state and of θ. A subclass gives them as class attributes, as properties or
    # as fields; a type checker that sees no declaration here accepts all three.
    if TYPE_CHECKING:
        state = cast(PyTree[jax.ShapeDtypeStruct], None)
        theta = cast(PyTree[jax.ShapeDtypeStruct], None)
    else:
        state: eqx.AbstractVar[PyTree[jax.ShapeDtypeStruct]]
        theta: eqx.AbstractVar[PyTree[jax.ShapeDtypeStruct]]

    @abc.abstractmethod
    def __call__(self, z: PyTree[Array], theta: PyTree[Array]) -> PyTree[Array]:
        """$f(z, θ)$ for one state."""


def zeros(template: PyTree[jax.ShapeDtypeStruct], *leading: int) -> PyTree[Array]:
    """Zeros of the default precision, shaped like `template` with `leading` axes in front."""
    return jax.tree.map(lambda leaf: jnp.zeros((*leading, *leaf.shape)), template)


def size(template: PyTree[jax.ShapeDtypeStruct]) -> int:
    """The number of scalars in one state, or in one θ."""
    return sum(leaf.size for leaf in jax.tree.leaves(template))


def entry_name(path: Any) -> str:
    """The name of an entry of a tree, as in `"layer.0"`, by its path."""
    return jax.tree_util.keystr(path, simple=True, separator=".")
