"""Particles and data as one ordinary differential equation, in several forms."""

from shootax._systems.automatic import AutomaticSystem as AutomaticSystem
from shootax._systems.base import AbstractSystem as AbstractSystem
from shootax._systems.base import ParticleState as ParticleState
from shootax._systems.base import State as State
from shootax._systems.base import TimePoint as TimePoint
from shootax._systems.carried import CarriedSystem as CarriedSystem
from shootax._systems.carried import carried_pays as carried_pays
from shootax._systems.choice import cheaper as cheaper
from shootax._systems.choice import operations as operations
from shootax._systems.choice import shooting_system as shooting_system
from shootax._systems.costs import form_costs as form_costs
from shootax._systems.dense import DenseSystem as DenseSystem
from shootax._systems.kernel import KernelSystem as KernelSystem
from shootax._systems.linear import LinearSystem as LinearSystem
from shootax._systems.path import ConstantPath as ConstantPath
from shootax._systems.path import PathSystem as PathSystem
from shootax._systems.path import PiecewisePath as PiecewisePath
from shootax._systems.warm_start import WarmStartSystem as WarmStartSystem
from shootax._systems.warm_start import first_guess as first_guess
