"""Questions about the traced program of a field."""

import functools
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shootax import _jaxpr as core
from shootax._fields.base import AbstractField
from shootax._fields.tracing import NotInferable


def traced(field: AbstractField) -> core.ClosedJaxpr:
    """The program of $f(z, θ)$ for one state, in the default precision."""
    dtype = jnp.result_type(float)
    like = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), (field.state, field.theta)
    )
    return jax.make_jaxpr(lambda z, theta: field(z, theta))(*like)


def operations_of(program: core.Jaxpr) -> Iterator[core.JaxprEqn]:
    """All operations of a program, including those of the programs inside it."""
    for equation in program.eqns:
        yield equation
        for value in equation.params.values():
            for inner in value if isinstance(value, tuple | list) else (value,):
                if isinstance(inner, core.ClosedJaxpr):
                    yield from operations_of(inner.jaxpr)
                elif isinstance(inner, core.Jaxpr):
                    yield from operations_of(inner)


def require_one_precision(program: core.Jaxpr, dtype: np.dtype) -> None:
    """Raise `NotInferable` if numbers are rounded to another precision: an expression is evaluated
    only in the precision of its argument."""
    for equation in operations_of(program):
        for variable in equation.outvars:
            aval: Any = variable.aval
            found = np.dtype(aval.dtype)
            # Kinds are those of NumPy, where the small formats of machine learning are "V".
            if found.kind not in "biu" and found != dtype:
                raise NotInferable


def forward_differentiable(field: AbstractField) -> bool:
    """Whether `f` can be differentiated in forward mode, which `jax.custom_vjp` prevents."""
    try:
        hash(field)
    except TypeError:
        return _forward_differentiable(field, None)
    return _remembered(field, jnp.result_type(float))


def _forward_differentiable(field: AbstractField, dtype: Any) -> bool:
    names = (equation.primitive.name for equation in operations_of(traced(field).jaxpr))
    return not any(name.startswith("custom_vjp_call") for name in names)


_remembered = functools.lru_cache(maxsize=256)(_forward_differentiable)
