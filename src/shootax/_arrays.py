"""Numbers as they come from a user, arrays, lists or data frames, and the dtype they get."""

import functools
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._fork import refuse_after_fork


def is_table(values: Any) -> bool:
    """Whether `values` is a list of plain numbers, however deep: one array, not a tree of arrays.

    A list of arrays remains a tree, for fields whose state is one.
    """
    return type(values) is list and all(np.ndim(leaf) == 0 for leaf in jax.tree.leaves(values))


def as_numbers(values: Any) -> Any:
    """An array of whatever holds numbers. JAX arrays, traced or not, are returned as they are.

    **Arguments:** `values`: an array, a list of numbers, a data frame, a tensor on the CPU.

    !!! example

        ```python
        import shootax as sx

        print(sx.extend.as_numbers([[1, 2], [3, 4]]).shape)  # (2, 2)
        ```
    """
    if isinstance(values, jax.Array):
        return values
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"The data must be an array of numbers, got a {type(values).__name__} that NumPy cannot "
            f"turn into one ({error}). Convert it first, as in np.asarray(x, float)."
        ) from None
    # A frame whose columns differ in type is an array of objects.
    if array.dtype.kind == "O" and not any(isinstance(item, str) for item in array.flat):
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            return array
    return array


def as_arrays(tree: PyTree) -> PyTree:
    """The same tree with arrays for its leaves, where lists of numbers are leaves.

    All data of a user come through here, so this is where a fork that would hang is found out.
    """
    refuse_after_fork()
    return jax.tree.map(as_numbers, tree, is_leaf=is_table)


def model_dtype(*parts: Any) -> np.dtype:
    """The dtype of the floating-point parameters of a model, the widest if they differ.

    Without any it is JAX's default. Penalties do not count: they never meet the data.
    """
    found = {
        leaf.dtype
        for part in parts
        for path, leaf in jax.tree_util.tree_leaves_with_path(part)
        if eqx.is_inexact_array(leaf) and getattr(path[:1] and path[0], "name", "") != "penalty"
    }
    if not found:
        return np.dtype(jnp.result_type(float))
    with jax.numpy_dtype_promotion("standard"):
        return np.dtype(functools.reduce(jnp.promote_types, found))


def model_inputs(x: Any, dtype: Any, name: str = "The input") -> PyTree[Array]:
    """Arrays of `dtype` from the input of a model.

    What is on the host is checked there for NaN and infinity. Arrays of JAX are not looked at, which
    would copy them to the host: NaN in, NaN out.
    """
    tree = as_arrays(x)
    leaves = jax.tree.leaves(tree)
    if not leaves:
        raise TypeError(f"{name} must be an array or a tree of arrays, got {checks.shown(x)}.")
    for leaf in leaves:
        checks.real_numbers(leaf, name)
        if not isinstance(leaf, jax.Array):
            checks.finite(leaf, name)
    lengths = {leaf.shape[:1] for leaf in leaves}
    if len(lengths) > 1 or lengths == {()}:
        raise ValueError(
            f"{name} must have samples along its first axis, as many in every array of a tree; got "
            f"shapes {[leaf.shape for leaf in leaves]}. Use x[None] for a single sample."
        )
    return jax.tree.map(lambda leaf: _as_dtype(leaf, dtype), tree)


def _as_dtype(leaf: Any, dtype: Any) -> Array:
    """By NumPy where it can be done: JAX would compile a program for each shape."""
    return (
        jnp.asarray(leaf, dtype)
        if isinstance(leaf, jax.Array)
        else jax.device_put(leaf.astype(dtype))
    )
