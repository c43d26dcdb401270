"""Numbers as they come from a user: arrays, lists, frames of pandas."""

from typing import Any

import jax
import numpy as np
from jaxtyping import PyTree


def is_table(values: Any) -> bool:
    """Whether `values` is a list of plain numbers, however deep: one array, not a tree of arrays.

    A list of arrays remains a tree, for fields whose state is one.
    """
    return type(values) is list and all(np.ndim(leaf) == 0 for leaf in jax.tree.leaves(values))


def as_numbers(values: Any) -> Any:
    """An array from whatever holds numbers. Arrays of JAX, traced ones too, are returned as they are."""
    if isinstance(values, jax.Array):
        return values
    array = np.asarray(values)
    # A frame whose columns differ in type is an array of objects.
    if array.dtype.kind == "O" and not any(isinstance(item, str) for item in array.flat):
        try:
            return array.astype(np.float64)
        except (TypeError, ValueError):
            return array
    return array


def as_arrays(tree: PyTree) -> PyTree:
    """The same tree with arrays for its leaves, where lists of numbers are leaves."""
    return jax.tree.map(as_numbers, tree, is_leaf=is_table)
