"""Particles and data as one ordinary differential equation, in the forms it can take."""

from shootax.systems.automatic import AutomaticSystem as AutomaticSystem
from shootax.systems.base import AbstractSystem as AbstractSystem
from shootax.systems.base import Moment as Moment
from shootax.systems.base import ParticleState as ParticleState
from shootax.systems.base import State as State
from shootax.systems.choice import cheaper as cheaper
from shootax.systems.choice import operations as operations
from shootax.systems.choice import shooting_system as shooting_system
from shootax.systems.continued import ContinuedSystem as ContinuedSystem
from shootax.systems.continued import first_guess as first_guess
from shootax.systems.dense import DenseSystem as DenseSystem
from shootax.systems.kernel import KernelSystem as KernelSystem
from shootax.systems.linear import LinearSystem as LinearSystem
from shootax.systems.path import PathSystem as PathSystem
