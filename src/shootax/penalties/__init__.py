"""Penalties $R(θ)$."""

from shootax.penalties.base import AbstractPenalty as AbstractPenalty
from shootax.penalties.quadratic import Quadratic as Quadratic
from shootax.penalties.quadratic import SPDMatrix as SPDMatrix
