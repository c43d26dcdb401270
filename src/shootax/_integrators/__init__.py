"""Integrators, and the gradient modes that differentiate them."""

from shootax._integrators.adaptive import Dopri5 as Dopri5
from shootax._integrators.adaptive import Tsit5 as Tsit5
from shootax._integrators.base import AbstractIntegrator as AbstractIntegrator
from shootax._integrators.base import AtEnd as AtEnd
from shootax._integrators.base import AtNodes as AtNodes
from shootax._integrators.base import AtTimes as AtTimes
from shootax._integrators.base import Save as Save
from shootax._integrators.fixed import AbstractFixedStep as AbstractFixedStep
from shootax._integrators.fixed import Step as Step
from shootax._integrators.gradients import AbstractGradient as AbstractGradient
from shootax._integrators.gradients import Checkpointed as Checkpointed
from shootax._integrators.gradients import Direct as Direct
from shootax._integrators.gradients import Reversed as Reversed
from shootax._integrators.runge_kutta import RK4 as RK4
from shootax._integrators.runge_kutta import Euler as Euler
from shootax._integrators.runge_kutta import Heun as Heun
from shootax._integrators.symplectic import ImplicitMidpoint as ImplicitMidpoint
from shootax._integrators.symplectic import SymplecticEuler as SymplecticEuler
