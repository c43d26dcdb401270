"""The experiments of the paper, by name."""

from shootax.experiments.balls import BouncingBalls
from shootax.experiments.circles import Circles
from shootax.experiments.regression import Regression
from shootax.experiments.rotating import RotatingMNIST
from shootax.experiments.spiral import SpiralExperiment
from shootax.sweeps.plan import AbstractExperiment

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
