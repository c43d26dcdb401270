"""Controls: where the weights θ(t) come from."""

from shootax._controls.base import AbstractControl as AbstractControl
from shootax._controls.base import Quadrature as Quadrature
from shootax._controls.direct import Piecewise as Piecewise
from shootax._controls.direct import Static as Static
from shootax._controls.formulations import FORMULATIONS as FORMULATIONS
from shootax._controls.formulations import formulation as formulation
from shootax._controls.function import Basis as Basis
from shootax._controls.function import FunctionControl as FunctionControl
from shootax._controls.particles import AbstractParticleControl as AbstractParticleControl
from shootax._controls.particles import FrozenParticles as FrozenParticles
from shootax._controls.particles import Particles as Particles
from shootax._controls.stagewise import BAKED as BAKED
from shootax._controls.stagewise import Stagewise as Stagewise
from shootax._controls.stagewise import StagewiseParticles as StagewiseParticles
