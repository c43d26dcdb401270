"""Integrators, and the ways a gradient goes back through them."""

from shootax.integrators.adaptive import Dopri5 as Dopri5
from shootax.integrators.adaptive import Tsit5 as Tsit5
from shootax.integrators.base import AbstractIntegrator as AbstractIntegrator
from shootax.integrators.base import AtEnd as AtEnd
from shootax.integrators.base import AtNodes as AtNodes
from shootax.integrators.base import AtTimes as AtTimes
from shootax.integrators.base import Save as Save
from shootax.integrators.fixed import AbstractFixedStep as AbstractFixedStep
from shootax.integrators.fixed import Step as Step
from shootax.integrators.gradients import AbstractGradient as AbstractGradient
from shootax.integrators.gradients import Checkpointed as Checkpointed
from shootax.integrators.gradients import Direct as Direct
from shootax.integrators.gradients import Reversed as Reversed
from shootax.integrators.runge_kutta import RK4 as RK4
from shootax.integrators.runge_kutta import Euler as Euler
from shootax.integrators.runge_kutta import Heun as Heun
from shootax.integrators.symplectic import ImplicitMidpoint as ImplicitMidpoint
from shootax.integrators.symplectic import SymplecticEuler as SymplecticEuler
