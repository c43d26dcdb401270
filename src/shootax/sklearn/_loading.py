"""Load an estimator of any kind from a file."""

import os
from typing import Any

from shootax.sklearn._classifier import ShootingClassifier
from shootax.sklearn._forecaster import ShootingForecaster
from shootax.sklearn._regressor import ShootingRegressor
from shootax.sklearn._saving import load


def load_estimator(path: str | os.PathLike) -> Any:
    """Read an estimator written by its `save` method or by `shootax fit`.

    **Arguments:** `path`: the file.

    **Returns:** a fitted [`shootax.sklearn.ShootingRegressor`][],
    [`shootax.sklearn.ShootingClassifier`][] or [`shootax.sklearn.ShootingForecaster`][].

    !!! example

        ```python
        import numpy as np
        from shootax.sklearn import ShootingRegressor, load_estimator

        x = np.linspace(-1, 1, 30)[:, None]
        ShootingRegressor(max_iter=2).fit(x, x[:, 0] ** 2).save("model.safetensors")
        print(type(load_estimator("model.safetensors")).__name__)
        ```
    """
    return load(path, ShootingClassifier, ShootingForecaster, ShootingRegressor)
