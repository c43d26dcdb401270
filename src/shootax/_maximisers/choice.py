"""Which maximiser suits a field and its penalty."""

from shootax._fields import RKHS, AbstractField, SingleHiddenLayer
from shootax._fields.linearity import assert_linear, linearity
from shootax._maximisers.base import AbstractMaximiser
from shootax._maximisers.closed_form import ClosedForm
from shootax._maximisers.linear_solve import LinearSolve
from shootax._maximisers.newton import Newton
from shootax._maximisers.per_neuron import PerNeuron
from shootax._maximisers.representer import Representer
from shootax._maximisers.unrolled import Unrolled
from shootax._maximisers.vertex_search import VertexSearch
from shootax._penalties import Barron, Penalty, Quadratic, Transport


def checked_maximiser(
    field: AbstractField, penalty: Penalty, maximiser: AbstractMaximiser | None
) -> AbstractMaximiser:
    """The maximiser asked for, if it can solve this problem; the best one if none is."""
    if maximiser is None:
        return _best(field, penalty)
    name, kind = type(field).__name__, type(penalty).__name__
    if isinstance(field, RKHS) != isinstance(maximiser, Representer):
        raise ValueError(
            f"{type(maximiser).__name__} does not go with {name}: an RKHS field, and no other, has "
            "its particles for weights (Representer). Leave the maximiser out."
        )
    if isinstance(maximiser, ClosedForm | LinearSolve):
        wanted = Quadratic if isinstance(maximiser, ClosedForm) else (Quadratic, Transport)
        if not isinstance(penalty, wanted):
            raise ValueError(
                f"{type(maximiser).__name__} needs a quadratic penalty, got {kind}. Leave the "
                "maximiser out, or use Newton()."
            )
        if not (maximiser.drift and linearity(field) == "affine"):
            assert_linear(field)
    if isinstance(maximiser, VertexSearch) and not VertexSearch.suits(field, penalty):
        raise ValueError(
            "Corners is for SingleHiddenLayer with ReLU and the Barron penalty, got "
            f"{name} with {kind}. Use Newton() or Unrolled()."
        )
    if isinstance(maximiser, PerNeuron) and not PerNeuron.suits(field, penalty):
        raise ValueError(
            "Neurons is for SingleHiddenLayer with a quadratic penalty whose weights of theta1, "
            f"theta2 and b2 are numbers, got {name} with {kind}. Use Newton()."
        )
    return maximiser


def _best(field: AbstractField, penalty: Penalty) -> AbstractMaximiser:
    if isinstance(field, RKHS):
        return Representer()
    if isinstance(field, SingleHiddenLayer):
        if isinstance(penalty, Barron):
            return VertexSearch() if VertexSearch.suits(field, penalty) else Unrolled()
        return PerNeuron() if PerNeuron.suits(field, penalty) else Newton()
    found = linearity(field)
    if found != "nonlinear" and isinstance(penalty, Quadratic):
        return ClosedForm(drift=found == "affine")
    if found != "nonlinear" and isinstance(penalty, Transport):
        return LinearSolve(drift=found == "affine")
    return Newton()
