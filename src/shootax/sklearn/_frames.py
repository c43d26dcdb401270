"""Checks of inputs to estimators, and data frames as outputs."""

from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, validate_data

from shootax.extend import as_numbers


def target_names(y: Any) -> list[str] | None:
    """The names of the targets, if `y` is a pandas `Series` or `DataFrame` with names."""
    columns = getattr(y, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) else None


def validated(estimator: Any, *arguments: Any, **options: Any) -> Any:
    """Call scikit-learn's `validate_data` without warnings of overflow in its sum of all entries.

    Masked entries of masked arrays are missing, where scikit-learn would take the numbers under the mask.
    """
    arguments = tuple(as_numbers(a) if isinstance(a, np.ma.MaskedArray) else a for a in arguments)
    with np.errstate(over="ignore", invalid="ignore"):
        return validate_data(estimator, *arguments, **options)


def frame(X: Any, values: np.ndarray, names: list[str] | None) -> Any:
    """A `DataFrame` with the index of `X`, if it has one."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "Predictions as a DataFrame require pandas: pip install 'shootax[tables]'"
        ) from error
    names = names or [
        f"prediction{i}" if values.shape[1] > 1 else "prediction" for i in range(values.shape[1])
    ]
    index = X.index if isinstance(X, pd.DataFrame) else None
    return pd.DataFrame(values, index=index, columns=names)


def checked_weight(weight: Any, X: np.ndarray) -> np.ndarray:
    """The weights of the samples `X` as doubles; `None` is 1 for each."""
    if isinstance(weight, np.ma.MaskedArray):
        weight = as_numbers(weight)
    weight = _check_sample_weight(weight, X, dtype=np.float64)
    with np.errstate(over="ignore"):
        total = weight.sum()
    if (weight < 0).any() or not 0 < total < np.inf:
        raise ValueError(
            "sample_weight must be numbers of at least 0, not all 0, with a finite sum; got values "
            f"from {weight.min():g} to {weight.max():g}."
        )
    return weight


def enough(X: np.ndarray, weight: np.ndarray) -> None:
    """Raise an error for a single sample, from which nothing can be learned."""
    if (weight > 0).sum() < 2:
        raise ValueError(
            f"Training needs at least 2 samples with a weight above 0; got n_samples = {len(X)}, of "
            "which at most one sample has a weight above 0."
        )
