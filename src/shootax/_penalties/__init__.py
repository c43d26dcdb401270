"""Penalties $R(θ)$, or $R(θ, q)$."""

from shootax._penalties.barron import Barron as Barron
from shootax._penalties.base import AbstractParticlePenalty as AbstractParticlePenalty
from shootax._penalties.base import AbstractPenalty as AbstractPenalty
from shootax._penalties.base import Penalty as Penalty
from shootax._penalties.base import penalty_at as penalty_at
from shootax._penalties.quadratic import Quadratic as Quadratic
from shootax._penalties.quadratic import SPDMatrix as SPDMatrix
from shootax._penalties.rkhs import RKHSNorm as RKHSNorm
from shootax._penalties.transport import Transport as Transport
