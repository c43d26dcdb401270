"""Checks of inputs to estimators, and data frames as outputs."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def target_names(y: Any) -> list[str] | None:
    """The names of the targets, if `y` is a pandas `Series` or `DataFrame` with names."""
    columns = getattr(y, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) else None


def validated(estimator: Any, *arguments: Any, **options: Any) -> Any:
    """Call scikit-learn's `validate_data` without warnings of overflow in its sum of all entries."""
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


def checked_weight(weight: np.ndarray) -> np.ndarray:
    if (weight < 0).any() or not weight.sum() > 0:
        raise ValueError(
            f"sample_weight must be numbers of at least 0, not all 0; got values from "
            f"{weight.min():g} to {weight.max():g}."
        )
    return weight


def enough(X: np.ndarray, weight: np.ndarray) -> None:
    """Raise an error for a single sample, from which nothing can be learned."""
    if (weight > 0).sum() < 2:
        raise ValueError(
            f"Training needs at least 2 samples with a weight above 0; got n_samples = {len(X)}, of "
            "which at most one sample has a weight above 0."
        )
