"""Maximisers: how $θ^* ∈ \\arg\\max_θ H(q, p, θ)$ is found."""

from shootax.maximisers.base import AbstractIterative as AbstractIterative
from shootax.maximisers.base import AbstractMaximiser as AbstractMaximiser
from shootax.maximisers.base import Maximum as Maximum
from shootax.maximisers.choice import checked_maximiser as checked_maximiser
from shootax.maximisers.closed import ClosedForm as ClosedForm
from shootax.maximisers.corners import Corners as Corners
from shootax.maximisers.linear import LinearSolve as LinearSolve
from shootax.maximisers.neurons import Neurons as Neurons
from shootax.maximisers.newton import Newton as Newton
from shootax.maximisers.quasi_newton import QuasiNewton as QuasiNewton
from shootax.maximisers.report import maximise as maximise
from shootax.maximisers.representer import Representer as Representer
from shootax.maximisers.unrolled import Unrolled as Unrolled
