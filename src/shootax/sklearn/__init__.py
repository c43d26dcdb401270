"""Estimators for scikit-learn: `pip install 'shootax[sklearn]'`."""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError("The estimators need scikit-learn: pip install 'shootax[sklearn]'") from error

from shootax.sklearn._classifier import ShootingClassifier as ShootingClassifier
from shootax.sklearn._forecaster import ShootingForecaster as ShootingForecaster
from shootax.sklearn._loading import load_estimator as load_estimator
from shootax.sklearn._regressor import ShootingRegressor as ShootingRegressor
