"""Results as JSON values."""

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Convert a result to Python numbers, strings, lists and dictionaries; arrays become lists.

    NaN and infinity become `None`, because JSON cannot represent them.
    """
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    array = np.asarray(value)  # JAX arrays and scalars, too
    if array.dtype == object or array.dtype.kind not in "biufUSM":
        if array.dtype.name == "bfloat16":
            return plain(array.astype(np.float32))
        raise TypeError(
            f"A result must be a number, a string, an array, or a list or dictionary of these, got "
            f"{type(value).__name__}."
        )
    return plain(array.tolist())
