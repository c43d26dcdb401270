"""What you need to write your own control, system, integrator, gradient mode or structured field."""

from shootax._controls import AbstractParticleControl as AbstractParticleControl
from shootax._controls import Quadrature as Quadrature
from shootax._fields import AbstractBlockField as AbstractBlockField
from shootax._fields import AbstractConvField as AbstractConvField
from shootax._fields import Block as Block
from shootax._fields import Feature as Feature
from shootax._fields import Layout as Layout
from shootax._fields import assert_linear as assert_linear
from shootax._fields import infer_layout as infer_layout
from shootax._fields import is_linear as is_linear
from shootax._integrators import AbstractFixedStep as AbstractFixedStep
from shootax._integrators import AbstractGradient as AbstractGradient
from shootax._integrators import AtEnd as AtEnd
from shootax._integrators import AtNodes as AtNodes
from shootax._integrators import AtTimes as AtTimes
from shootax._integrators import Step as Step
from shootax._penalties import AbstractParticlePenalty as AbstractParticlePenalty
from shootax._penalties import SPDMatrix as SPDMatrix
from shootax._systems import AbstractSystem as AbstractSystem
from shootax._systems import ParticleState as ParticleState
from shootax._systems import PathSystem as PathSystem
from shootax._systems import State as State
from shootax._systems import TimePoint as TimePoint
from shootax._train import Checkpoint as Checkpoint
