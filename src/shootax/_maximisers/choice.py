"""Which maximiser suits a field and its penalty."""

from shootax import _checks as checks
from shootax._fields import AbstractField
from shootax._fields.linearity import linearity
from shootax._maximisers.base import AbstractMaximiser
from shootax._maximisers.closed_form import ClosedForm
from shootax._maximisers.linear_solve import LinearSolve
from shootax._maximisers.newton import Newton
from shootax._penalties import Penalty, Quadratic, Transport


def checked_maximiser(
    field: AbstractField, penalty: Penalty, maximiser: AbstractMaximiser | None
) -> AbstractMaximiser:
    """Return the given maximiser if it can solve this problem; by default the field's own."""
    if maximiser is None:
        return field.default_maximiser(penalty)
    checks.instance(
        maximiser,
        AbstractMaximiser,
        "maximiser",
        "maximiser=shootax.maximisers.Newton(), or leave it out",
    )
    maximiser.check(field, penalty)
    return maximiser


def default_maximiser(field: AbstractField, penalty: Penalty) -> AbstractMaximiser:
    """The best maximiser for a field that has no structure beyond its dependence on θ."""
    found = linearity(field)
    if found != "nonlinear" and isinstance(penalty, Quadratic):
        return ClosedForm(drift=found == "affine")
    if found != "nonlinear" and isinstance(penalty, Transport):
        return LinearSolve(drift=found == "affine")
    return Newton()
