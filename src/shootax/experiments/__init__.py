"""The experiments of the paper, by name."""

from shootax.experiments.circles import Circles
from shootax.experiments.regression import Regression
from shootax.experiments.spiral import SpiralExperiment
from shootax.sweeps.plan import AbstractExperiment

_ALL: tuple[AbstractExperiment, ...] = (
    Regression("quadratic"),
    Regression("cubic"),
    SpiralExperiment(),
    Circles(),
)

EXPERIMENTS: dict[str, AbstractExperiment] = {each.name: each for each in _ALL}
"""What `shootax reproduce` can do."""
