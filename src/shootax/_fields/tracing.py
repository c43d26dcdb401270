"""Interpret a traced program with labels instead of numbers: the rules of layout inference.

A label says which entry of the state, or of a leaf of θ, is at a place. Operations that move entries move
their labels, elementwise operations extend an expression, and a product of weights with functions of the
state is a term of a sum. Anything else raises [`NotInferable`][].
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax import _jaxpr as core
from shootax._fields.expressions import (
    ELEMENTWISE,
    Apply,
    Argument,
    Cast,
    Constant,
    Custom,
    Expression,
    constant,
)
from shootax._fields.host import step

SMALLEST = 1e-6
"""A constant feature that is smaller, or larger than its inverse, is left to the linear form: the
penalty of its weights, in terms of those of a bias, is divided by its square."""


class NotInferable(Exception):
    """An operation that a block field cannot have."""


@dataclasses.dataclass(frozen=True)
class Entries:
    """Functions of entries of the state: `labels` are the entries (-1 if and only if the function is a
    [`Constant`][]), `kinds` the indices of the functions in `functions`."""

    labels: np.ndarray
    kinds: np.ndarray
    functions: tuple[Expression, ...]

    @classmethod
    def of(cls, labels: np.ndarray, function: Expression) -> "Entries":
        return cls(labels, np.zeros(labels.shape, np.int32), (function,))

    @property
    def constant(self) -> bool:
        return bool((self.labels < 0).all())

    def changed(self, change: Callable[[Expression], Expression]) -> "Entries":
        return dataclasses.replace(self, functions=tuple(map(change, self.functions)))


@dataclasses.dataclass(frozen=True)
class Weights:
    """Entries of one leaf of θ."""

    leaf: int
    labels: np.ndarray


@dataclasses.dataclass(frozen=True)
class Term:
    """Row $i$ is $Σ_j$ θ[`weights[i, j]`] · `function`(z[`source[j]`]), or, without a source,
    `scale` · θ[`weights[i, 0]`]."""

    leaf: int
    weights: np.ndarray
    source: np.ndarray | None
    function: Expression
    scale: float = 1.0


@dataclasses.dataclass(frozen=True)
class Sums:
    """A sum of terms, each with an array that has its row at each place (-1: none)."""

    terms: tuple[tuple[np.ndarray, Term], ...]


Value = Entries | Weights | Sums


def interpret(
    program: core.ClosedJaxpr, given: Sequence[Value], *, plain: bool = False, orders: int = 2
) -> list[Value]:
    """Compute the outputs of a program, in labels. `plain` ignores custom derivatives; otherwise they
    are interpreted up to order `orders`, as a training gradient needs them."""
    known: dict[Any, Value] = dict(zip(program.jaxpr.invars, given, strict=True))
    constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True))

    def value_of(atom: Any) -> Value:
        if isinstance(atom, core.Literal):
            return _known(atom.val)
        return _known(constants[atom]) if atom in constants else known[atom]

    for equation in _needed(program.jaxpr):
        out = _step(equation, [value_of(atom) for atom in equation.invars], plain, orders)
        known.update(zip(equation.outvars, out, strict=True))
    return [value_of(atom) for atom in program.jaxpr.outvars]


def _needed(program: core.Jaxpr) -> list[core.JaxprEqn]:
    """The operations that the outputs depend on."""
    wanted: set[Any] = {atom for atom in program.outvars if isinstance(atom, core.Var)}
    out = []
    for equation in reversed(program.eqns):
        if wanted.intersection(equation.outvars):
            out.append(equation)
            wanted.update(atom for atom in equation.invars if isinstance(atom, core.Var))
    return out[::-1]


def _known(value: Any) -> Value:
    try:
        array = np.asarray(value)
        return Entries.of(np.full(array.shape, -1, np.int32), constant(array))
    except (TypeError, ValueError):  # an array that is traced, or whose entries differ
        raise NotInferable from None


def _step(equation: core.JaxprEqn, given: list[Value], plain: bool, orders: int) -> list[Value]:
    """Interpret one operation."""
    name, params = equation.primitive.name, equation.params
    if name in ("jit", "pjit"):
        return interpret(params["jaxpr"], given, plain=plain, orders=orders)
    if name == "custom_jvp_call" and plain:
        return interpret(params["call_jaxpr"], given, plain=True)
    if name == "custom_jvp_call":
        return [_customised(equation, given, orders)]
    if name in MOVES:
        return [_moved(MOVES[name](params), given[0])]
    if name == "split":
        edges = np.cumsum(params["sizes"])[:-1]
        pieces = len(params["sizes"])
        return [
            _moved(lambda a, i=i: np.split(a, edges, params["axis"])[i], given[0])
            for i in range(pieces)
        ]
    if name == "concatenate":
        return [join(given, params["dimension"])]
    if name == "convert_element_type":
        return [_cast(given[0], np.dtype(params["new_dtype"]))]
    if name == "dot_general":
        return [_product(given, params["dimension_numbers"])]
    entries = [value for value in given if isinstance(value, Entries)]
    if name in ELEMENTWISE and len(entries) == len(given):
        return [_elementwise(equation, entries)]
    if name in ("add", "add_any"):
        out: Any = equation.outvars[0].aval
        parts = (sums(_moved(lambda a: np.broadcast_to(a, out.shape), value)) for value in given)
        return [Sums(tuple(term for part in parts for term in part.terms))]
    raise NotInferable


def _spread(params: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    def move(labels: np.ndarray) -> np.ndarray:
        lengths = [1] * len(params["shape"])
        for axis, length in zip(params["broadcast_dimensions"], labels.shape, strict=True):
            lengths[axis] = length
        return np.broadcast_to(labels.reshape(lengths), params["shape"])

    return move


def _cut(params: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    starts, stops = params["start_indices"], params["limit_indices"]
    strides = params["strides"] or [1] * len(starts)
    return lambda labels: labels[tuple(map(slice, starts, stops, strides))]


def _reshaped(params: dict[str, Any]) -> Callable[[np.ndarray], np.ndarray]:
    require(params["dimensions"] is None)
    return lambda labels: labels.reshape(params["new_sizes"])


MOVES: dict[str, Callable[[dict[str, Any]], Callable[[np.ndarray], np.ndarray]]] = {
    "broadcast_in_dim": _spread,
    "copy": lambda params: lambda labels: labels,
    "reshape": lambda params: _reshaped(params),
    "rev": lambda params: lambda labels: np.flip(labels, params["dimensions"]),
    "slice": _cut,
    "squeeze": lambda params: lambda labels: np.squeeze(labels, params["dimensions"]),
    "transpose": lambda params: lambda labels: np.transpose(labels, params["permutation"]),
}
"""Operations that only move entries."""


def _moved(move: Callable[[np.ndarray], np.ndarray], value: Value) -> Value:
    if isinstance(value, Sums):
        return Sums(tuple((move(place), term) for place, term in value.terms))
    if isinstance(value, Weights):
        return Weights(value.leaf, move(value.labels))
    return Entries(move(value.labels), move(value.kinds), value.functions)


def ravel(value: Value) -> Value:
    return _moved(np.ravel, value)


def join(values: Sequence[Value], axis: int) -> Value:
    """Concatenate values: functions of the state, or terms."""
    entries = [value for value in values if isinstance(value, Entries)]
    if len(entries) == len(values):
        starts = np.cumsum([0, *(len(value.functions) for value in entries)])
        kinds = [start + value.kinds for start, value in zip(starts, entries, strict=False)]
        functions = itertools.chain(*(value.functions for value in entries))
        labels = np.concatenate([value.labels for value in entries], axis)
        return Entries(labels, np.concatenate(kinds, axis), tuple(functions))
    shapes = [_shape(value) for value in values]
    terms = []
    for i, value in enumerate(values):
        for place, term in sums(value).terms:
            line = [place if i == k else np.full(shape, -1) for k, shape in enumerate(shapes)]
            terms.append((np.concatenate(line, axis), term))
    return Sums(tuple(terms))


def _shape(value: Value) -> tuple[int, ...]:
    if isinstance(value, Sums):
        require(len(value.terms) > 0)
        return value.terms[0][0].shape
    return value.labels.shape


def sums(value: Value) -> Sums:
    """A value as a sum of terms: weights are biases, and zero is the empty sum."""
    if isinstance(value, Sums):
        return value
    if isinstance(value, Weights):
        bias = Term(value.leaf, value.labels.reshape(-1, 1), None, Argument())
        return Sums(((numbers(value.labels.shape), bias),))
    used = [value.functions[kind] for kind in np.unique(value.kinds)]
    require(all(isinstance(function, Constant) and function.value == 0 for function in used))
    return Sums(())


def _cast(value: Value, dtype: np.dtype) -> Value:
    require(dtype.kind == "f")

    def change(function: Expression) -> Expression:
        if isinstance(function, Constant):
            return Constant(float(np.asarray(function.value).astype(dtype)), "f")
        return function if isinstance(function, Argument) else Cast(function)

    return value.changed(change) if isinstance(value, Entries) else value


def _elementwise(equation: core.JaxprEqn, given: list[Entries]) -> Entries:
    out: Any = equation.outvars[0].aval
    shape = out.shape
    labels = np.broadcast_arrays(*(value.labels for value in given), np.empty(shape))[:-1]
    kinds = np.broadcast_arrays(*(value.kinds for value in given), np.empty(shape))[:-1]
    mine = np.max(labels, axis=0)
    require(all(((label == mine) | (label < 0)).all() for label in labels))
    combinations, kind = np.unique(np.reshape(kinds, (len(given), -1)), axis=1, return_inverse=True)
    functions = tuple(
        _applied(equation, tuple(value.functions[k] for value, k in zip(given, ks, strict=True)))
        for ks in combinations.T
    )
    return Entries(mine, kind.reshape(shape), functions)


def _applied(equation: core.JaxprEqn, operands: tuple[Expression, ...]) -> Expression:
    """Apply an elementwise operation to expressions. Constants are computed immediately."""
    if not all(isinstance(operand, Constant) for operand in operands):
        return Apply(equation.primitive, tuple(sorted(equation.params.items())), operands)
    dtypes = [np.dtype(atom.aval.dtype) for atom in equation.invars]  # pyright: ignore[reportAttributeAccessIssue]
    values = [
        np.asarray(operand.value, dtype)  # pyright: ignore[reportAttributeAccessIssue]
        for operand, dtype in zip(operands, dtypes, strict=True)
    ]
    with np.errstate(all="ignore"):
        return constant(step(equation, values)[0])


def _customised(equation: core.JaxprEqn, given: list[Value], orders: int) -> Value:
    """A function with a custom derivative: both are interpreted, and both must be elementwise."""
    varying = [i for i, value in enumerate(given) if not _is_constant(value)]
    others = [atom for i, atom in enumerate(equation.invars) if i not in varying]
    require(len(varying) == 1 and len(equation.outvars) == 1)
    require(all(isinstance(atom, core.Literal) for atom in others))
    value, atom = given[varying[0]], equation.invars[varying[0]]
    if not isinstance(value, Entries) or len(np.unique(value.kinds)) != 1:
        raise NotInferable
    source, target = (variable.aval for variable in (atom, equation.outvars[0]))
    require(source.shape == target.shape and source.dtype == target.dtype)  # pyright: ignore[reportAttributeAccessIssue]
    argument = Entries.of(value.labels, Argument())
    inner = equation.params["call_jaxpr"]
    alone: Any = ((), (atom,), equation.outvars, (equation,))
    program = core.Jaxpr(*alone, debug_info=inner.jaxpr.debug_info)
    whole = core.jaxpr_as_fun(core.ClosedJaxpr(program, ()))

    def pushed(s: Array, direction: Array) -> Array:
        return jax.jvp(lambda s: whole(s)[0], (s,), (direction,))[1]

    def derivative(s: Array) -> Array:
        return pushed(s, jnp.ones_like(s))

    inside = [argument if value is v else v for v in given]
    template: Any = jax.ShapeDtypeStruct(source.shape, source.dtype)  # pyright: ignore[reportAttributeAccessIssue]
    tilt = jax.make_jaxpr(derivative)(template)
    height = _function(interpret(inner, inside, plain=True), argument)
    slope = _function(interpret(tilt, [argument], plain=True), argument)
    # The slope is taken along ones, which would not show that directions change places: here they
    # have labels.
    along = jax.make_jaxpr(pushed)(template, template)
    _function(interpret(along, [argument] * 2, plain=True), argument)

    @functools.cache
    def exact() -> Expression:
        # The slope may call the function itself, so this ends when no more orders are needed.
        return _function(interpret(tilt, [argument], orders=orders - 1), argument)

    if orders > 0:
        exact()
    return value.changed(lambda function: Custom(height, slope, function, exact))


def _function(values: list[Value], argument: Entries) -> Expression:
    """The one function of the argument that a value is."""
    (value,) = values
    if not isinstance(value, Entries) or len(kinds := np.unique(value.kinds)) != 1:
        raise NotInferable
    require(value.labels.shape == argument.labels.shape)
    require(((value.labels == argument.labels) | (value.labels < 0)).all())
    return value.functions[kinds[0]]


def _is_constant(value: Value) -> bool:
    return isinstance(value, Entries) and value.constant


def _product(given: list[Value], axes: Any) -> Sums:
    """Multiply weights with a vector of features."""
    contracted, batched = axes
    require(not any(batched) and all(len(axis) == 1 for axis in contracted))
    pairs = list(zip(given, (axis[0] for axis in contracted), strict=True))
    if isinstance(pairs[0][0], Entries):
        pairs.reverse()
    (weights, axis), (features, _) = pairs
    if not isinstance(weights, Weights) or not isinstance(features, Entries):
        raise NotInferable
    require(features.labels.ndim == 1)
    lines = np.moveaxis(weights.labels, axis, -1)
    places = numbers(lines.shape[:-1])
    matrix = lines.reshape(-1, lines.shape[-1])
    terms = []
    for span, function in _runs(features):
        source = features.labels[span]
        if not isinstance(function, Constant):
            require(bool((source >= 0).all()))
            terms.append((places, Term(weights.leaf, matrix[:, span], source, function)))
        elif function.value != 0:
            scale = float(function.value)
            require(SMALLEST <= abs(scale) <= 1 / SMALLEST)  # not for NaN either
            for j in range(span.start, span.stop):
                column = Term(weights.leaf, matrix[:, j : j + 1], None, Argument(), scale)
                terms.append((places, column))
    return Sums(tuple(terms))


def _runs(features: Entries) -> list[tuple[slice, Expression]]:
    """The slices in which consecutive entries of the state have the same function."""
    labels, functions = features.labels, [features.functions[kind] for kind in features.kinds]
    starts = [0]
    for i in range(1, len(labels)):
        follows = labels[i] == labels[i - 1] + (labels[i] >= 0)
        if not follows or functions[i] != functions[i - 1]:
            starts.append(i)
    return [(slice(a, b), functions[a]) for a, b in itertools.pairwise([*starts, len(labels)])]


def require(condition: bool) -> None:
    if not condition:
        raise NotInferable


def numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)
