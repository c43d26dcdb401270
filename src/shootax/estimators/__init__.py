"""Estimators for scikit-learn: `pip install 'shootax[sklearn]'`."""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("The estimators need scikit-learn: pip install 'shootax[sklearn]'") from error

from shootax.estimators.classifier import ShootingClassifier as ShootingClassifier
from shootax.estimators.forecaster import ShootingForecaster as ShootingForecaster
from shootax.estimators.regressor import ShootingRegressor as ShootingRegressor
