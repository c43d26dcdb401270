"""An estimator from a file, whichever kind it is."""

import os

from shootax.sklearn._classifier import ShootingClassifier
from shootax.sklearn._forecaster import ShootingForecaster
from shootax.sklearn._regressor import ShootingRegressor
from shootax.sklearn._saving import load


def load_estimator(
    path: str | os.PathLike,
) -> ShootingClassifier | ShootingForecaster | ShootingRegressor:
    """Reads an estimator written by its `save` method or by `shootax fit`.

    **Arguments:** `path`, the file.

    **Returns:** a fitted `ShootingRegressor`, `ShootingClassifier` or `ShootingForecaster`.
    """
    return load(path, ShootingClassifier, ShootingForecaster, ShootingRegressor)
