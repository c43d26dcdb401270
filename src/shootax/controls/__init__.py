"""Controls: where the weights θ(t) come from."""

from shootax.controls.base import AbstractControl as AbstractControl
from shootax.controls.base import Quadrature as Quadrature
from shootax.controls.direct import Piecewise as Piecewise
from shootax.controls.direct import Static as Static
from shootax.controls.formulations import FORMULATIONS as FORMULATIONS
from shootax.controls.formulations import formulation as formulation
from shootax.controls.function import Basis as Basis
from shootax.controls.function import Given as Given
from shootax.controls.particles import AbstractParticles as AbstractParticles
from shootax.controls.particles import FrozenParticles as FrozenParticles
from shootax.controls.particles import Particles as Particles
from shootax.controls.stages import Stages as Stages
