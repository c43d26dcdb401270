"""Arrays as they come from a user, checked and split for training."""

import abc
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._arrays import as_arrays, as_numbers


class Data(NamedTuple):
    """Rows of inputs, targets, weights, and, where rows have them, times of their own."""

    x: PyTree[Array]
    y: PyTree[Array]
    weight: Float[Array, " rows"]
    times: Float[Array, "rows times"] | None


class AbstractSampler(eqx.Module):
    """Samples that are drawn anew for every epoch, as part of its compiled program.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx


        class Squares(sx.AbstractSampler):
            def __call__(self, key):
                x = jax.random.uniform(key, (40, 1), minval=-1, maxval=1)
                return x, x**2


        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        fitted = sx.fit(net, Squares(), epochs=2)
        ```
    """

    @abc.abstractmethod
    def __call__(self, key: PRNGKeyArray) -> tuple[PyTree[Array], PyTree[Array]]:
        """Inputs and targets, with samples along the leading axis."""


def prepare(
    x: Any, y: Any, weights: Any, times: Any, validation: Any, seed: int
) -> tuple[Data | AbstractSampler, Data | None, tuple[float, ...] | None]:
    """Checked arrays for training and validation, and times that all rows share."""
    each = np.ndim(times) == 2
    shared = None if times is None or each else tuple(float(t) for t in np.asarray(times))
    if isinstance(x, AbstractSampler):
        if y is not None or weights is not None or each:
            raise ValueError(
                "A sampler draws x and y: leave out y, the weights, and times for each sample."
            )
        if validation is not None and not isinstance(validation, tuple):
            raise ValueError("With a sampler, give the validation data as a pair (x, y).")
        return x, None if validation is None else _given(validation, False), shared
    data = _data(x, y, weights, times if each else None, "")
    if validation is None:
        return data, None, shared
    if isinstance(validation, tuple):
        return data, _given(validation, each), shared
    rows = len(data.weight)
    held = round(rows * float(validation))
    if not 0 < validation < 1 or not 0 < held < rows:
        raise ValueError(
            f"validation must be a fraction that leaves samples on both sides, or a pair (x, y); got "
            f"{validation} of {rows} samples."
        )
    order = np.random.default_rng(seed).permutation(rows)
    first, second = np.sort(order[held:]), np.sort(order[:held])
    kept, out = (jax.tree.map(lambda leaf, i=i: leaf[i], data) for i in (first, second))
    return kept, out, shared


def _given(validation: tuple, each: bool) -> Data:
    """Held-out data that the user chose; `each` says whether samples have their own times."""
    if len(validation) not in (2, 3, 4):
        raise ValueError(
            "validation must be (x, y), (x, y, weights) or (x, y, weights, times), got "
            f"{len(validation)} things."
        )
    x, y, weights, times = (*validation, None, None)[:4]
    if each != (times is not None):
        raise ValueError(
            "With times for each sample, give the validation split as a fraction, or with times "
            "of its own, (x, y, weights, times); and only then."
        )
    return _data(x, y, weights, times, "validation ")


def _data(x: Any, y: Any, weights: Any, times: Any, what: str) -> Data:
    x, y = (jax.tree.map(as_floats, as_arrays(tree)) for tree in (x, y))
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves((x, y))}
    if lengths == {0} or not lengths:
        raise ValueError(f"The {what}data are empty: fit needs at least one sample.")
    if len(lengths) > 1:
        sizes = [tuple(leaf.shape[0] for leaf in jax.tree.leaves(tree)) for tree in (x, y)]
        raise ValueError(
            f"The {what}x and y must have the same number of samples, got {sizes[0]} and {sizes[1]}."
        )
    (rows,) = lengths
    for name, tree in ((f"{what}x", x), (f"{what}y", y)):
        for leaf in jax.tree.leaves(tree):
            checks.finite(leaf, name)
    weight = as_floats(np.ones(rows) if weights is None else weights)
    known = np.asarray(weight)
    if known.shape != (rows,) or np.any(known < 0) or not known.sum() > 0:
        raise ValueError(
            f"weights must be {rows} numbers of at least 0, not all 0; got shape {weight.shape}."
        )
    if times is not None:
        times = as_floats(times)
        if times.shape[0] != rows:
            raise ValueError(
                f"times must have a line for each of {rows} samples, got {times.shape}."
            )
    return Data(x, y, weight, times)


def drawn(sampler: AbstractSampler, key: PRNGKeyArray) -> Data:
    """The samples of one epoch."""
    x, y = sampler(key)
    return Data(x, y, jnp.ones(jax.tree.leaves(x)[0].shape[0]), None)


def row_count(data: Data | AbstractSampler) -> int:
    """The number of samples in an epoch."""
    if isinstance(data, Data):
        return data.weight.shape[0]
    return eqx.filter_eval_shape(drawn, data, jax.random.key(0)).weight.shape[0]


def as_floats(values: Any) -> Array:
    """Numbers of any kind in the default precision."""
    array = np.asarray(as_numbers(values))
    if array.dtype.kind not in "fiub":
        raise ValueError(f"Data must be numbers, got an array of dtype {array.dtype}.")
    return jnp.asarray(array, jnp.result_type(float))
