"""A field of one's own gives its shapes in whichever way Python has."""

from typing import Any

import equinox as eqx
import jax
import pytest

import shootax as sx


class ByAttribute(sx.AbstractField):
    state = sx.shape(2)
    theta = {"w": sx.shape(2)}  # noqa: RUF012

    def __call__(self, z, theta):
        return theta["w"] * z


class ByProperty(sx.AbstractField):
    dim: int = eqx.field(static=True)

    @property
    def state(self):
        return sx.shape(self.dim)

    @property
    def theta(self):
        return {"w": sx.shape(self.dim)}

    def __call__(self, z, theta):
        return theta["w"] * z


class ByField(sx.AbstractField):
    state: Any = eqx.field(static=True)
    theta: Any = eqx.field(static=True)

    def __call__(self, z, theta):
        return theta["w"] * z


class Incomplete(sx.AbstractField):
    state = sx.shape(2)

    def __call__(self, z, theta):
        return z


@pytest.mark.parametrize(
    "field", [ByAttribute(), ByProperty(2), ByField(sx.shape(2), {"w": sx.shape(2)})]
)
def test_shapes_as_attributes_properties_or_fields(field):
    assert field.state.shape == field.theta["w"].shape == (2,)
    assert jax.tree.leaves(field) == []
    assert sx.linearity(field) == sx.linearity(ByAttribute())


def test_shapes_cannot_be_left_out():
    with pytest.raises(TypeError, match="theta"):
        Incomplete()  # pyright: ignore


def test_a_function_needs_a_state():
    for state in ((), "a", {"x": sx.shape(2), "v": "b"}):
        with pytest.raises(TypeError, match="state must be shapes"):
            sx.FunctionField(lambda z, theta: z, state=state, theta={})
    assert sx.FunctionField(lambda z, theta: z, state=sx.shape(2), theta={}).theta == {}
