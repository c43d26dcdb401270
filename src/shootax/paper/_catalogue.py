"""The experiments of the paper by name."""

from shootax.paper._balls import BouncingBalls
from shootax.paper._circles import Circles
from shootax.paper._experiment import AbstractExperiment
from shootax.paper._mnist import MNIST
from shootax.paper._questions import Formulations, Networks, ParticlesAgainstData
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
    MNIST(),
    ParticlesAgainstData(),
    Networks(),
    Formulations(),
)

EXPERIMENTS: dict[str, AbstractExperiment] = {each.name: each for each in _ALL}
"""The experiments that `shootax reproduce` can run, by name."""

COLLECTIONS: dict[str, tuple[str, ...]] = {
    "questions": ("questions-data", "questions-networks", "questions-formulations"),
}
"""Groups of experiments: `shootax reproduce` runs the experiments of a group one after the other."""
