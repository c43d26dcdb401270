"""Elementwise functions as data: a tree of operations that applies to an array of any shape.

Two functions that were written in different places are the same if their trees are equal.
"""

import abc
import dataclasses
import functools
from collections.abc import Callable, Hashable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax._jaxpr import Primitive


class Expression(abc.ABC):
    """An elementwise function of one argument."""

    @abc.abstractmethod
    def __call__(self, s: Array) -> Array:
        """Its values at the entries of `s`."""

    @property
    def straight(self) -> bool:
        """Whether it is known to be piecewise linear."""
        return False

    @property
    def flat(self) -> bool:
        """Whether it is known to be piecewise constant."""
        return False


@dataclasses.dataclass(frozen=True)
class Argument(Expression):
    """The argument itself."""

    def __call__(self, s: Array) -> Array:
        return s

    @property
    def straight(self) -> bool:
        return True


@dataclasses.dataclass(frozen=True)
class Constant(Expression):
    """The same number everywhere."""

    value: float | int | bool
    kind: str  # as in NumPy: 'f', 'i' or 'b'; 1, 1.0 and True are not the same

    def __call__(self, s: Array) -> Array:
        return jnp.full(s.shape, self.value, s.dtype if self.kind == "f" else None)

    @property
    def straight(self) -> bool:
        return True

    @property
    def flat(self) -> bool:
        return True


@dataclasses.dataclass(frozen=True)
class Cast(Expression):
    """Another expression, with the precision of the argument."""

    operand: Expression

    def __call__(self, s: Array) -> Array:
        return self.operand(s).astype(s.dtype)

    @property
    def straight(self) -> bool:
        return self.operand.straight

    @property
    def flat(self) -> bool:
        return self.operand.flat


ADDING = frozenset({"add", "add_any", "sub", "neg", "abs", "max", "min", "copy"})
SCALING = frozenset({"mul", "div"})
COMPARING = frozenset({"gt", "lt", "ge", "le", "eq", "ne"})
SMOOTH = frozenset(
    {"sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "asinh", "acosh",
     "atanh", "logistic", "exp", "exp2", "expm1", "log", "log1p", "sqrt", "rsqrt", "cbrt", "square",
     "pow", "integer_pow", "erf", "erfc", "erf_inv", "sign", "floor", "ceil"}
)  # fmt: skip
LOGICAL = frozenset({"and", "or", "not", "xor"})
ELEMENTWISE = ADDING | SCALING | COMPARING | SMOOTH | LOGICAL | {"select_n"}
"""Names of the primitives that work element by element."""


@dataclasses.dataclass(frozen=True)
class Apply(Expression):
    """A primitive of JAX applied to other expressions."""

    primitive: Primitive
    parameters: tuple[tuple[str, Hashable], ...]
    operands: tuple[Expression, ...]

    def __call__(self, s: Array) -> Array:
        values = [operand(s) for operand in self.operands]
        return self.primitive.bind(*values, **dict(self.parameters))

    @property
    def straight(self) -> bool:
        name, operands = self.primitive.name, self.operands
        if name == "select_n":
            return operands[0].flat and all(case.straight for case in operands[1:])
        if name == "mul":
            return any(isinstance(o, Constant) for o in operands) and _straight(operands)
        if name == "div":
            return isinstance(operands[1], Constant) and operands[0].straight
        return self.flat or (name in ADDING and _straight(operands))

    @property
    def flat(self) -> bool:
        # A comparison of piecewise linear functions changes at single points only.
        name = self.primitive.name
        return (name in COMPARING and _straight(self.operands)) or all(
            operand.flat for operand in self.operands
        )


def _straight(operands: tuple[Expression, ...]) -> bool:
    return all(operand.straight for operand in operands)


@dataclasses.dataclass(frozen=True)
class Custom(Expression):
    """A function with a custom derivative (`jax.custom_jvp`).

    `slope` is that derivative; `exact` returns it in a form that keeps its own custom derivatives.
    """

    height: Expression
    slope: Expression
    operand: Expression
    exact: Callable[[], Expression] = dataclasses.field(compare=False, repr=False)

    def __call__(self, s: Array) -> Array:
        return _custom(self, self.operand(s))

    @property
    def straight(self) -> bool:
        return self.operand.straight and self.height.straight and self.slope.flat

    @property
    def flat(self) -> bool:
        return self.operand.flat


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _custom(function: Custom, s: Array) -> Array:
    return function.height(s)


@_custom.defjvp
def _(function: Custom, primals: Any, tangents: Any) -> tuple[Array, Array]:
    (s,), (direction,) = primals, tangents
    return _custom(function, s), function.exact()(s) * direction


def constant(value: np.ndarray) -> Constant:
    """The expression of an array whose entries are all the same; raises `ValueError` otherwise."""
    first = value.reshape(-1)[:1]
    if value.size == 0 or not (value == first).all():
        raise ValueError("The entries of a constant differ.")
    return Constant(first.item(), value.dtype.kind)
