"""Experiments on questions that the paper leaves open."""

from shootax.paper._questions.data import ParticlesAgainstData as ParticlesAgainstData
from shootax.paper._questions.formulations import Formulations as Formulations
from shootax.paper._questions.networks import Networks as Networks
