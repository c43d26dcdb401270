"""Conversion of user input (arrays, lists, data frames) to arrays of the model's dtype."""

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
    """Whether `values` is a (nested) list of plain numbers: one array, not a tree of arrays.

    A list of arrays remains a tree, for fields whose state is a tree.
    """
    return type(values) is list and all(np.ndim(leaf) == 0 for leaf in jax.tree.leaves(values))


def as_numbers(values: Any) -> Any:
    """Convert numbers to an array. JAX arrays, traced or not, are returned unchanged.

    **Arguments:** `values`: an array, a list of numbers, a data frame, a tensor on the CPU.

    !!! example

        ```python
        import shootax as sx

        print(sx.extend.as_numbers([[1, 2], [3, 4]]).shape)  # (2, 2)
        ```
    """
    if isinstance(values, jax.Array):
        return values
    if hasattr(values, "toarray"):  # NumPy would make one object of it
        raise ValueError(
            f"The data must be an array of numbers, got a sparse {type(values).__name__}. Convert it "
            "first, as in x.toarray()."
        )
    try:
        array = _unmasked(values)
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


def _unmasked(values: Any) -> np.ndarray:
    """A NumPy array, in which the masked entries of a masked array are NaN.

    NumPy itself would put the numbers under the mask in their place.
    """
    if isinstance(values, np.ma.MaskedArray) and np.ma.is_masked(values):
        kind = values.dtype if values.dtype.kind in "fc" else np.float64
        return np.ma.filled(values.astype(kind), np.nan)
    return np.asarray(values)


def as_arrays(tree: PyTree) -> PyTree:
    """The same tree with arrays for its leaves, where lists of numbers are leaves.

    All user data pass through here, so this is also where use after a fork is refused.
    """
    refuse_after_fork()
    return jax.tree.map(as_numbers, tree, is_leaf=is_table)


def model_dtype(*parts: Any) -> np.dtype:
    """The dtype of the floating-point parameters of a model, the widest if they differ.

    Without any, it is JAX's default. Penalties do not count, because they never act on data.
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

    Arrays on the host are checked for NaN and infinity. JAX arrays are not checked, because that
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
            f"{name} must have samples along its first axis, the same number in every array; got "
            f"shapes {[leaf.shape for leaf in leaves]}. Use x[None] for a single sample."
        )
    return jax.tree.map(lambda leaf: _as_dtype(leaf, dtype, name), tree)


def _as_dtype(leaf: Any, dtype: Any, name: str) -> Array:
    """Convert by NumPy where possible: JAX would compile a program for each shape."""
    return (
        jnp.asarray(leaf, dtype)
        if isinstance(leaf, jax.Array)
        else jax.device_put(checks.converted(leaf, dtype, name))
    )
