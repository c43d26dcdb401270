"""Penalties $R(θ)$, or $R(θ, q)$."""

from shootax.penalties.barron import Barron as Barron
from shootax.penalties.base import AbstractParticlePenalty as AbstractParticlePenalty
from shootax.penalties.base import AbstractPenalty as AbstractPenalty
from shootax.penalties.base import Penalty as Penalty
from shootax.penalties.base import rate as rate
from shootax.penalties.quadratic import Quadratic as Quadratic
from shootax.penalties.quadratic import SPDMatrix as SPDMatrix
from shootax.penalties.rkhs import RKHSNorm as RKHSNorm
from shootax.penalties.transport import Transport as Transport
