"""Check the user's arrays, and split them for training."""

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
    """Samples: inputs, targets, weights, and, if these differ between samples, times."""

    x: PyTree[Array]
    y: PyTree[Array]
    sample_weight: Float[Array, " samples"]
    times: Float[Array, "samples times"] | None


class AbstractSampler(eqx.Module):
    """A source of samples that are drawn anew for every epoch, as part of its compiled program.

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
        """Draw inputs and targets, with samples along the leading axis."""


def prepare(
    x: Any, y: Any, sample_weight: Any, times: Any, validation: Any, seed: int
) -> tuple[Data | AbstractSampler, Data | None, tuple[float, ...] | None]:
    """Return checked data for training and validation, and the times that all samples share.

    `validation` is the `data` of a `Validation`, which has checked its kind.
    """
    each = np.ndim(times) == 2
    shared = None if times is None or each else _shared_times(times)
    if isinstance(x, AbstractSampler):
        if y is not None or sample_weight is not None or each:
            raise ValueError(
                "A sampler draws x and y: leave out y, sample_weight, and times that differ by sample."
            )
        if validation is not None and not isinstance(validation, tuple):
            raise ValueError("With a sampler, give the validation data as a pair (x, y).")
        return x, None if validation is None else _given(validation, False), shared
    data = _data(x, y, sample_weight, times if each else None, "")
    if validation is None:
        return data, None, shared
    if isinstance(validation, tuple):
        return data, _given(validation, each), shared
    samples = sample_count(data)
    held = round(samples * float(validation)) if 0 < validation < 1 else 0
    if not 0 < held < samples:
        raise ValueError(
            f"validation must be a fraction that leaves samples on both sides, or a pair (x, y); got "
            f"{validation} of {samples} samples."
        )
    order = np.random.default_rng(seed).permutation(samples)
    first, second = np.sort(order[held:]), np.sort(order[:held])
    kept, out = (jax.tree.map(lambda leaf, i=i: leaf[i], data) for i in (first, second))
    return kept, out, shared


def _shared_times(times: Any) -> tuple[float, ...]:
    array = np.asarray(as_numbers(times))
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "fiu":
        raise ValueError(
            "times must be numbers of shape (times,), or (samples, times) if they differ by sample; "
            f"got {array.dtype} of shape {array.shape}."
        )
    return tuple(float(t) for t in array)


def _given(validation: tuple, each: bool) -> Data:
    """Held-out data chosen by the user. `each` says whether the times differ by sample."""
    x, y, sample_weight, times = (*validation, None, None)[:4]
    if each != (times is not None):
        raise ValueError(
            "The validation data must have times, (x, y, sample_weight, times), if and only if the "
            "training times differ by sample. Or give a fraction of the samples to hold out."
        )
    return _data(x, y, sample_weight, times, "validation ")


def _data(x: Any, y: Any, sample_weight: Any, times: Any, what: str) -> Data:
    x, y = (
        jax.tree.map(lambda leaf, name=name: as_floats(leaf, f"{what}{name}"), as_arrays(tree))
        for name, tree in (("x", x), ("y", y))
    )
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves((x, y))}
    if lengths == {0} or not lengths:
        raise ValueError(f"The {what}data are empty: fit needs at least one sample.")
    if len(lengths) > 1:
        sizes = [tuple(leaf.shape[:1] for leaf in jax.tree.leaves(tree)) for tree in (x, y)]
        counts = [tuple(size[0] if size else 0 for size in part) for part in sizes]
        raise ValueError(
            f"The {what}x and y must have the same number of samples, got {counts[0]} and {counts[1]}."
        )
    (samples,) = lengths
    for name, tree in ((f"{what}x", x), (f"{what}y", y)):
        for leaf in jax.tree.leaves(tree):
            checks.finite(leaf, name)
    weight = as_floats(
        np.ones(samples) if sample_weight is None else sample_weight, f"{what}sample_weight"
    )
    known = np.asarray(weight)
    with np.errstate(over="ignore"):
        total = known.sum()
    if known.shape != (samples,) or np.any(known < 0) or not 0 < total < np.inf:
        span = f" with numbers from {known.min():g} to {known.max():g}" if known.size else ""
        raise ValueError(
            f"{what}sample_weight must be {samples} finite numbers of at least 0, not all 0, and "
            f"their sum must be finite in {known.dtype}; got shape {known.shape}{span}."
        )
    if times is not None:
        times = as_floats(times, "times")
        if times.shape[0] != samples:
            raise ValueError(
                f"times must have an entry for each of {samples} samples, got shape {times.shape}."
            )
    return Data(x, y, weight, times)


def drawn(sampler: AbstractSampler, key: PRNGKeyArray) -> Data:
    """Draw the samples of one epoch."""
    x, y = sampler(key)
    return Data(x, y, jnp.ones(jax.tree.leaves(x)[0].shape[0]), None)


def sample_count(data: Data | AbstractSampler) -> int:
    """The number of samples in an epoch."""
    if isinstance(data, Data):
        return data.sample_weight.shape[0]
    return eqx.filter_eval_shape(drawn, data, jax.random.key(0)).sample_weight.shape[0]


def as_floats(values: Any, name: str = "Data") -> Array:
    """Convert numbers of any kind to floats in the default precision."""
    array = np.asarray(as_numbers(values))
    if array.dtype.kind not in "fiub":
        raise ValueError(f"Data must be numbers, got an array of dtype {array.dtype}.")
    # Without a program to compile.
    return jax.device_put(checks.converted(array, jnp.result_type(float), name))
