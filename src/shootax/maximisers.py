"""Maximisers: how $θ^* ∈ \\arg\\max_θ H(q, p, θ)$ is found."""

from shootax._maximisers import AbstractIterative as AbstractIterative
from shootax._maximisers import AbstractMaximiser as AbstractMaximiser
from shootax._maximisers import ClosedForm as ClosedForm
from shootax._maximisers import LinearSolve as LinearSolve
from shootax._maximisers import Maximum as Maximum
from shootax._maximisers import Newton as Newton
from shootax._maximisers import PerNeuron as PerNeuron
from shootax._maximisers import QuasiNewton as QuasiNewton
from shootax._maximisers import Representer as Representer
from shootax._maximisers import Unrolled as Unrolled
from shootax._maximisers import VertexSearch as VertexSearch
from shootax._maximisers import maximise as maximise
