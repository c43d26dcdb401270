"""The experiments of the paper by name."""

from shootax.paper._balls import BouncingBalls
from shootax.paper._circles import Circles
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._regression import Regression
from shootax.paper._rotating import RotatingMNIST
from shootax.paper._spiral import SpiralExperiment

_ALL: tuple[AbstractExperiment, ...] = (
    Regression("quadratic"),
    Regression("cubic"),
    SpiralExperiment(),
    Circles(),
    RotatingMNIST(),
    BouncingBalls(),
)

EXPERIMENTS: dict[str, AbstractExperiment] = {each.name: each for each in _ALL}
"""What `shootax reproduce` can do."""
