"""The table of blocks of a user's field, read off the program of `f`.

`f` is traced once, and its operations are followed with labels in the place of numbers: which entry of
the state or of θ stands where, and which elementwise function has been applied to it. Where in the end
every velocity is a sum of weights times such functions, the field is a block field, and shooting takes
the forms that are written out for those. Nothing is tried out in numbers, so nothing is guessed: an
operation that is not understood ends the reading, and the field is left as it is.
"""

import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core
from jaxtyping import Array

from shootax.activations import Activation, identity
from shootax.fields.base import AbstractField, size
from shootax.fields.block import AbstractBlockField, Block, Feature, Layout
from shootax.fields.expressions import (
    ELEMENTWISE,
    Apply,
    Argument,
    Cast,
    Constant,
    Custom,
    Expression,
    constant,
)

MOST_PARTS = 16
"""A state that falls into more parts than this is left alone: its blocks are too small to pay."""


class ReadField(AbstractBlockField):
    """The block field that equals a user's field. θ has other names and shapes there.

    `entries` names, for each block, the entry of the user's θ that it is made of, and says whether
    it is the whole of it, with the velocities along its leading axis.
    """

    dim: int = eqx.field(static=True)
    table: Layout = eqx.field(static=True)
    entries: tuple[tuple[str, str, bool], ...] = eqx.field(static=True)

    @property
    def layout(self) -> Layout:
        return self.table


def read_blocks(field: AbstractField) -> ReadField | None:
    """The same field as a table of blocks, or `None` where it is not made of blocks.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        def f(z, theta):
            return theta["A"] @ jnp.tanh(z) + theta["b"]

        field = sx.FunctionField(f, state=sx.shape(3), theta={"A": sx.shape(3, 3), "b": sx.shape(3)})
        print(sx.read_blocks(field).layout.blocks)
        ```
    """
    if not jax.tree.leaves(field.theta):
        return None
    try:
        return _table(field, _terms(field))
    except _Unreadable:
        return None


class _Unreadable(Exception):
    """What was met is not part of a block field."""


@dataclasses.dataclass(frozen=True)
class _Entries:
    """Functions of entries of the state: `labels` says of which (a constant has -1), `kinds` by
    which of the `functions`."""

    labels: np.ndarray
    kinds: np.ndarray
    functions: tuple[Expression, ...]

    @classmethod
    def of(cls, labels: np.ndarray, function: Expression) -> "_Entries":
        return cls(labels, np.zeros(labels.shape, np.int32), (function,))

    @property
    def constant(self) -> bool:
        return bool((self.labels < 0).all())

    def changed(self, change: Callable[[Expression], Expression]) -> "_Entries":
        return dataclasses.replace(self, functions=tuple(map(change, self.functions)))


@dataclasses.dataclass(frozen=True)
class _Weights:
    """Entries of one leaf of θ."""

    leaf: int
    labels: np.ndarray


@dataclasses.dataclass(frozen=True)
class _Term:
    """Row $i$ is $Σ_j$ θ[`weights[i, j]`] · `function`(z[`source[j]`]), or θ[`weights[i, 0]`]."""

    leaf: int
    weights: np.ndarray
    source: np.ndarray | None
    function: Expression


@dataclasses.dataclass(frozen=True)
class _Sums:
    """A sum of terms, each with the row of it that stands in each place (-1: none)."""

    terms: tuple[tuple[np.ndarray, _Term], ...]


_Value = _Entries | _Weights | _Sums


def _terms(field: AbstractField) -> list[tuple[np.ndarray, _Term]]:
    """What the velocity of the state, as one vector, is the sum of."""
    dtype = jnp.result_type(float)
    like = jax.tree.map(
        lambda leaf: jax.ShapeDtypeStruct(leaf.shape, dtype), (field.state, field.theta)
    )
    program = jax.make_jaxpr(lambda z, theta: field(z, theta))(*like)
    states, weights = (jax.tree.leaves(tree) for tree in like)
    starts = np.cumsum([0, *(leaf.size for leaf in states)])
    given: list[_Value] = [
        _Entries.of(start + _numbers(leaf.shape), Argument())
        for start, leaf in zip(starts, states, strict=False)
    ]
    given += [_Weights(i, _numbers(leaf.shape)) for i, leaf in enumerate(weights)]
    velocity = _join([_ravel(value) for value in _follow(program, given)], 0)
    return [
        (place, dataclasses.replace(term, weights=term.weights[place[place >= 0]]))
        for place, term in _sums(velocity).terms
        if (place >= 0).any()
    ]


def _table(field: AbstractField, terms: list[tuple[np.ndarray, _Term]]) -> ReadField:
    total = size(field.state)
    leaves = [
        (jax.tree_util.keystr(path, simple=True, separator="."), leaf)
        for path, leaf in jax.tree.leaves_with_path(field.theta)
    ]
    _require(len(terms) > 0)
    for i in {term.leaf for _, term in terms}:
        used = np.concatenate([term.weights.ravel() for _, term in terms if term.leaf == i])
        _require(np.bincount(used).max() == 1)
    placed = [(_range(np.flatnonzero(place >= 0)), term) for place, term in terms]
    sources = [_range(term.source) for _, term in terms if term.source is not None]
    cuts = sorted({0, total, *itertools.chain(*(target for target, _ in placed), *sources)})
    _require(len(cuts) - 1 <= MOST_PARTS)
    parts = {f"z{i}": (a, b) for i, (a, b) in enumerate(itertools.pairwise(cuts))}
    features: dict[tuple[str, Activation], str] = {}
    blocks, entries = [], []
    for target, term in placed:
        name, leaf = leaves[term.leaf]
        in_order = np.array_equal(term.weights.ravel(), np.arange(leaf.size))
        whole = in_order and leaf.shape[:1] == term.weights.shape[:1]
        function = identity if term.function == Argument() else term.function
        moved = _within(parts, target)
        read = [None] if term.source is None else _within(parts, _range(term.source))
        for part, source in itertools.product(moved, read):
            feature = "one"
            if source is not None:
                feature = features.setdefault((source, function), f"φ{len(features)}")
            blocks.append(Block(f"block{len(blocks)}", part, feature))
            entries.append((blocks[-1].name, name, whole and len(moved) * len(read) == 1))
    _require(len({(block.target, block.feature) for block in blocks}) == len(blocks))
    order = list(parts)
    varying = sorted(features.items(), key=lambda item: order.index(item[0][0]))
    layout = Layout(
        parts={name: b - a for name, (a, b) in parts.items()},
        features=(*(Feature(n, part, f) for (part, f), n in varying), Feature("one", None)),
        blocks=tuple(blocks),
    )
    return ReadField(dim=total, table=layout, entries=tuple(entries))


def _range(labels: np.ndarray) -> tuple[int, int]:
    """First and last + 1 of labels that follow each other."""
    _require(labels.size > 0 and (np.diff(labels) == 1).all())
    return int(labels[0]), int(labels[-1]) + 1


def _within(parts: dict[str, tuple[int, int]], span: tuple[int, int]) -> list[str]:
    return [name for name, (a, b) in parts.items() if span[0] <= a and b <= span[1]]


def _require(condition: bool) -> None:
    if not condition:
        raise _Unreadable


def _numbers(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


# Following a program -----------------------------------------------------------------------------


def _follow(
    program: core.ClosedJaxpr, given: Sequence[_Value], *, plain: bool = False
) -> list[_Value]:
    """The outputs of a program, in labels. `plain` leaves derivatives that were given by hand out."""
    known: dict[Any, _Value] = dict(zip(program.jaxpr.invars, given, strict=True))
    constants = dict(zip(program.jaxpr.constvars, program.consts, strict=True))

    def read(atom: Any) -> _Value:
        if isinstance(atom, core.Literal):
            return _known(atom.val)
        return _known(constants[atom]) if atom in constants else known[atom]

    for equation in _needed(program.jaxpr):
        out = _step(equation, [read(atom) for atom in equation.invars], plain)
        known.update(zip(equation.outvars, out, strict=True))
    return [read(atom) for atom in program.jaxpr.outvars]


def _needed(program: core.Jaxpr) -> list[core.JaxprEqn]:
    """The operations that the outputs depend on."""
    wanted: set[Any] = {atom for atom in program.outvars if isinstance(atom, core.Var)}
    out = []
    for equation in reversed(program.eqns):
        if wanted.intersection(equation.outvars):
            out.append(equation)
            wanted.update(atom for atom in equation.invars if isinstance(atom, core.Var))
    return out[::-1]


def _known(value: Any) -> _Value:
    try:
        array = np.asarray(value)
        return _Entries.of(np.full(array.shape, -1, np.int32), constant(array))
    except (TypeError, ValueError):  # an array that is traced, or whose entries differ
        raise _Unreadable from None


def _step(equation: core.JaxprEqn, given: list[_Value], plain: bool) -> list[_Value]:
    """One operation."""
    name, params = equation.primitive.name, equation.params
    if name in ("jit", "pjit"):
        return _follow(params["jaxpr"], given, plain=plain)
    if name == "custom_jvp_call" and plain:
        return _follow(params["call_jaxpr"], given, plain=True)
    if name == "custom_jvp_call":
        return [_customised(equation, given)]
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
        return [_join(given, params["dimension"])]
    if name == "convert_element_type":
        return [_cast(given[0], np.dtype(params["new_dtype"]))]
    if name == "dot_general":
        return [_product(given, params["dimension_numbers"])]
    entries = [value for value in given if isinstance(value, _Entries)]
    if name in ELEMENTWISE and len(entries) == len(given):
        return [_elementwise(equation, entries)]
    if name in ("add", "add_any"):
        out: Any = equation.outvars[0].aval
        parts = (_sums(_moved(lambda a: np.broadcast_to(a, out.shape), value)) for value in given)
        return [_Sums(tuple(term for part in parts for term in part.terms))]
    raise _Unreadable


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


MOVES: dict[str, Callable[[dict[str, Any]], Callable[[np.ndarray], np.ndarray]]] = {
    "broadcast_in_dim": _spread,
    "copy": lambda params: lambda labels: labels,
    "reshape": lambda params: lambda labels: labels.reshape(params["new_sizes"]),
    "rev": lambda params: lambda labels: np.flip(labels, params["dimensions"]),
    "slice": _cut,
    "squeeze": lambda params: lambda labels: np.squeeze(labels, params["dimensions"]),
    "transpose": lambda params: lambda labels: np.transpose(labels, params["permutation"]),
}
"""Operations that only bring entries to other places."""


def _moved(move: Callable[[np.ndarray], np.ndarray], value: _Value) -> _Value:
    if isinstance(value, _Sums):
        return _Sums(tuple((move(place), term) for place, term in value.terms))
    if isinstance(value, _Weights):
        return _Weights(value.leaf, move(value.labels))
    return _Entries(move(value.labels), move(value.kinds), value.functions)


def _ravel(value: _Value) -> _Value:
    return _moved(np.ravel, value)


def _join(values: Sequence[_Value], axis: int) -> _Value:
    """Values behind each other: functions of the state, or terms."""
    entries = [value for value in values if isinstance(value, _Entries)]
    if len(entries) == len(values):
        starts = np.cumsum([0, *(len(value.functions) for value in entries)])
        kinds = [start + value.kinds for start, value in zip(starts, entries, strict=False)]
        functions = itertools.chain(*(value.functions for value in entries))
        labels = np.concatenate([value.labels for value in entries], axis)
        return _Entries(labels, np.concatenate(kinds, axis), tuple(functions))
    shapes = [_shape(value) for value in values]
    terms = []
    for i, value in enumerate(values):
        for place, term in _sums(value).terms:
            line = [place if i == k else np.full(shape, -1) for k, shape in enumerate(shapes)]
            terms.append((np.concatenate(line, axis), term))
    return _Sums(tuple(terms))


def _shape(value: _Value) -> tuple[int, ...]:
    if isinstance(value, _Sums):
        _require(len(value.terms) > 0)
        return value.terms[0][0].shape
    return value.labels.shape


def _sums(value: _Value) -> _Sums:
    """A value as a sum of terms: weights are biases, and zero is the empty sum."""
    if isinstance(value, _Sums):
        return value
    if isinstance(value, _Weights):
        bias = _Term(value.leaf, value.labels.reshape(-1, 1), None, Argument())
        return _Sums(((_numbers(value.labels.shape), bias),))
    used = [value.functions[kind] for kind in np.unique(value.kinds)]
    _require(all(isinstance(function, Constant) and function.value == 0 for function in used))
    return _Sums(())


def _cast(value: _Value, dtype: np.dtype) -> _Value:
    _require(dtype.kind == "f")

    def change(function: Expression) -> Expression:
        if isinstance(function, Constant):
            return Constant(float(function.value), "f")
        return function if isinstance(function, Argument) else Cast(function)

    return value.changed(change) if isinstance(value, _Entries) else value


def _elementwise(equation: core.JaxprEqn, given: list[_Entries]) -> _Entries:
    out: Any = equation.outvars[0].aval
    shape = out.shape
    labels = np.broadcast_arrays(*(value.labels for value in given), np.empty(shape))[:-1]
    kinds = np.broadcast_arrays(*(value.kinds for value in given), np.empty(shape))[:-1]
    mine = np.max(labels, axis=0)
    _require(all(((label == mine) | (label < 0)).all() for label in labels))
    combinations, kind = np.unique(np.reshape(kinds, (len(given), -1)), axis=1, return_inverse=True)
    parameters = tuple(sorted(equation.params.items()))
    functions = tuple(
        Apply(
            equation.primitive,
            parameters,
            tuple(value.functions[k] for value, k in zip(given, combination, strict=True)),
        )
        for combination in combinations.T
    )
    return _Entries(mine, kind.reshape(shape), functions)


def _customised(equation: core.JaxprEqn, given: list[_Value]) -> _Value:
    """A function with a derivative of its own: both are followed."""
    varying = [i for i, value in enumerate(given) if not _is_constant(value)]
    others = [atom for i, atom in enumerate(equation.invars) if i not in varying]
    _require(len(varying) == 1 and len(equation.outvars) == 1)
    _require(all(isinstance(atom, core.Literal) for atom in others))
    value, atom = given[varying[0]], equation.invars[varying[0]]
    if not isinstance(value, _Entries) or len(np.unique(value.kinds)) != 1:
        raise _Unreadable
    argument = _Entries.of(value.labels, Argument())
    inner = equation.params["call_jaxpr"]
    alone: Any = ((), (atom,), equation.outvars, (equation,))
    program = core.Jaxpr(*alone, debug_info=inner.jaxpr.debug_info)
    whole = core.jaxpr_as_fun(core.ClosedJaxpr(program, ()))

    def derivative(s: Array) -> Array:
        return jax.jvp(lambda s: whole(s)[0], (s,), (jnp.ones_like(s),))[1]

    inside = [argument if value is v else v for v in given]
    aval: Any = atom.aval
    tilt = jax.make_jaxpr(derivative)(jax.ShapeDtypeStruct(aval.shape, aval.dtype))
    height = _function(_follow(inner, inside, plain=True), argument)
    slope = _function(_follow(tilt, [argument], plain=True), argument)

    @functools.cache
    def exact() -> Expression:
        # The slope may call the function itself, so this is for those who differentiate it.
        try:
            return _function(_follow(tilt, [argument]), argument)
        except _Unreadable:
            return slope

    return value.changed(lambda function: Custom(height, slope, function, exact))


def _function(values: list[_Value], argument: _Entries) -> Expression:
    """The one function of the argument that a value is."""
    (value,) = values
    if not isinstance(value, _Entries) or len(kinds := np.unique(value.kinds)) != 1:
        raise _Unreadable
    _require(((value.labels == argument.labels) | (value.labels < 0)).all())
    return value.functions[kinds[0]]


def _is_constant(value: _Value) -> bool:
    return isinstance(value, _Entries) and value.constant


def _product(given: list[_Value], numbers: Any) -> _Sums:
    """Weights times a vector of features."""
    contracted, batched = numbers
    _require(not any(batched) and all(len(axes) == 1 for axes in contracted))
    pairs = list(zip(given, (axes[0] for axes in contracted), strict=True))
    if isinstance(pairs[0][0], _Entries):
        pairs.reverse()
    (weights, axis), (features, _) = pairs
    if not isinstance(weights, _Weights) or not isinstance(features, _Entries):
        raise _Unreadable
    _require(features.labels.ndim == 1)
    lines = np.moveaxis(weights.labels, axis, -1)
    places = _numbers(lines.shape[:-1])
    matrix = lines.reshape(-1, lines.shape[-1])
    terms = []
    for span, function in _runs(features):
        source = features.labels[span]
        if not isinstance(function, Constant):
            terms.append((places, _Term(weights.leaf, matrix[:, span], source, function)))
        elif function.value == 1:
            bias = [matrix[:, j : j + 1] for j in range(span.start, span.stop)]
            terms += [(places, _Term(weights.leaf, column, None, Argument())) for column in bias]
        else:
            _require(function.value == 0)
    return _Sums(tuple(terms))


def _runs(features: _Entries) -> list[tuple[slice, Expression]]:
    """Where entries of the state that follow each other stand under one function."""
    labels, functions = features.labels, [features.functions[kind] for kind in features.kinds]
    starts = [0]
    for i in range(1, len(labels)):
        follows = labels[i] == labels[i - 1] + (labels[i] >= 0)
        if not follows or functions[i] != functions[i - 1]:
            starts.append(i)
    return [(slice(a, b), functions[a]) for a, b in itertools.pairwise([*starts, len(labels)])]
