"""Maximisers: how $θ^* ∈ \\arg\\max_θ H(q, p, θ)$ is found."""

from shootax._maximisers.base import AbstractIterative as AbstractIterative
from shootax._maximisers.base import AbstractMaximiser as AbstractMaximiser
from shootax._maximisers.base import Maximum as Maximum
from shootax._maximisers.choice import checked_maximiser as checked_maximiser
from shootax._maximisers.choice import default_maximiser as default_maximiser
from shootax._maximisers.closed_form import ClosedForm as ClosedForm
from shootax._maximisers.linear_solve import LinearSolve as LinearSolve
from shootax._maximisers.newton import Newton as Newton
from shootax._maximisers.per_neuron import PerNeuron as PerNeuron
from shootax._maximisers.quasi_newton import QuasiNewton as QuasiNewton
from shootax._maximisers.report import maximise as maximise
from shootax._maximisers.representer import Representer as Representer
from shootax._maximisers.unrolled import Unrolled as Unrolled
from shootax._maximisers.vertex_search import VertexSearch as VertexSearch
