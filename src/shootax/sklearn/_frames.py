"""What goes in and out of an estimator beside plain arrays."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data


def target_names(y: Any) -> list[str] | None:
    """The names of the targets, if `y` is a `Series` or `DataFrame` of pandas with names."""
    columns = getattr(y, "columns", None)
    if columns is not None:
        return [str(name) for name in columns]
    name = getattr(y, "name", None)
    return [name] if isinstance(name, str) else None


def validated(estimator: Any, *arguments: Any, **options: Any) -> Any:
    """`validate_data` of scikit-learn, which adds up entries first: large ones overflow silently."""
    with np.errstate(over="ignore", invalid="ignore"):
        return validate_data(estimator, *arguments, **options)


def frame(X: Any, values: np.ndarray, names: list[str] | None) -> Any:
    """A `DataFrame` with the index of `X`, if it has one."""
    try:
        import pandas as pd
    except ImportError as error:
        raise ImportError(
            "Predictions as a DataFrame need pandas: pip install 'shootax[tables]'"
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
    """Refuses a single sample, from which nothing can be learned."""
    if (weight > 0).sum() < 2:
        raise ValueError(
            f"At least 2 samples with a weight above 0 are needed, got n_samples = {len(X)}, one sample "
            "or none of them with a weight above 0."
        )
