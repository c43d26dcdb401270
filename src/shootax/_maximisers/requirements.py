"""What a maximiser requires of a field and a penalty."""

from typing import Any

from shootax._fields import AbstractField, HiddenLayer
from shootax._fields.linearity import assert_linear, linearity
from shootax._penalties import Penalty


def require_theta(maximiser: Any, field: AbstractField) -> None:
    """Raise for a field without weights."""
    if not field.has_theta:
        raise ValueError(
            f"{type(maximiser).__name__} does not work with {type(field).__name__}, which has "
            "particles instead of weights (Representer). Leave the maximiser out."
        )


def require_quadratic(
    maximiser: Any, field: AbstractField, penalty: Penalty, kinds: Any, drift: bool
) -> None:
    """Raise unless H is a quadratic function of θ: linear in the field, quadratic in the penalty."""
    name = type(maximiser).__name__
    if not isinstance(penalty, kinds):
        raise ValueError(
            f"{name} needs a quadratic penalty, got {type(penalty).__name__}. Leave the maximiser "
            "out, or use Newton()."
        )
    if not (drift and linearity(field) == "affine"):
        assert_linear(field)


def hidden_layer(field: AbstractField) -> HiddenLayer:
    """The single hidden layer of a field that was checked to be one."""
    layer = field.as_hidden_layer()
    assert layer is not None
    return layer
