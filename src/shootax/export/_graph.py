"""The intermediate representation of a model that is exported: a graph of array operations.

NumPy, PyTorch and ONNX all have these operations, though their names differ. Loops stay loops unless
you unroll them. Operations on constants are evaluated when the graph is built.
"""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Dim:
    """A size that depends on the batch size: `factor * batch + offset`."""

    factor: int = 1
    offset: int = 0


Shape = tuple[int | Dim, ...]


@dataclasses.dataclass(frozen=True, eq=False)
class Value:
    """An array: an input, a result, or a known array (`data`), which may be a weight."""

    name: str
    shape: Shape
    dtype: str
    data: np.ndarray | None = None
    weight: bool = False

    @property
    def known(self) -> bool:
        """Whether the value is a constant and not a weight."""
        return self.data is not None and not self.weight


@dataclasses.dataclass(frozen=True, eq=False)
class Op:
    """One operation: `out = kind(*inputs, **options)`."""

    kind: str
    inputs: tuple[Value, ...]
    options: dict[str, Any]
    out: Value


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """`for counter in range(length)`: the carried values move from `starts` to `results`.

    An iteration starts with the values `carried` and ends with the values `nexts`. The `slices` of all
    iterations are stacked.
    """

    counter: Value
    length: int
    starts: tuple[Value, ...]
    carried: tuple[Value, ...]
    body: "tuple[Op | Loop, ...]"
    nexts: tuple[Value, ...]
    results: tuple[Value, ...]
    slices: tuple[Value, ...]
    stacked: tuple[Value, ...]

    @property
    def inputs(self) -> tuple[Value, ...]:
        inner = [value for item in self.body for value in item.inputs]
        return (*self.starts, *inner, *self.nexts, *self.slices)


Item = Op | Loop


@dataclasses.dataclass(frozen=True)
class Graph:
    """A model: its inputs, its operations in order, and its outputs."""

    inputs: tuple[Value, ...]
    items: tuple[Item, ...]
    outputs: tuple[Value, ...]

    def constants(self) -> list[Value]:
        """Weights and other known arrays, in the order of their first use."""
        found: dict[int, Value] = {}
        for value in (*_used(self.items), *self.outputs):
            if value.data is not None:
                found.setdefault(id(value), value)
        return list(found.values())


def _used(items: tuple[Item, ...]) -> Iterator[Value]:
    for item in items:
        if isinstance(item, Loop):
            yield from item.starts
            yield from _used(item.body)
            yield from (*item.nexts, *item.slices)
        else:
            yield from item.inputs


def results(item: Item) -> tuple[Value, ...]:
    """The values that an item computes for later items."""
    return (item.out,) if isinstance(item, Op) else (*item.results, *item.stacked)


def without_idle(items: list[Item], wanted: tuple[Value, ...]) -> tuple[Item, ...]:
    """The items on which the `wanted` values depend."""
    needed, kept = {id(value) for value in wanted}, []
    for item in reversed(items):
        if any(id(value) in needed for value in results(item)):
            needed.update(id(value) for value in item.inputs)
            kept.append(item)
    return tuple(reversed(kept))


def dim(size: Any) -> int | Dim:
    """Convert a size in a traced program, in which the batch size is called `b`."""
    if isinstance(size, Dim):
        return size
    if isinstance(size, int | np.integer):
        return int(size)
    found = re.fullmatch(r"(?:(\d+)\*)?b(?: ([+-]) (\d+))?", str(size))
    if found is None:
        raise ValueError(
            f"The model has an array with an axis of size {size}, where b is the batch size. Only a "
            "multiple of b plus a constant can be exported. Use a lift and a readout that map each "
            "sample separately."
        )
    factor, sign, offset = found.groups()
    return Dim(int(factor or 1), int(offset or 0) * (-1 if sign == "-" else 1))


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(np.asarray(x).dtype)


def _piece(x: np.ndarray, *starts: Any, sizes: tuple[int, ...]) -> np.ndarray:
    return x[tuple(slice(int(s), int(s) + n) for s, n in zip(starts, sizes, strict=True))]


ELEMENTWISE = frozenset(
    [
        "add",
        "subtract",
        "multiply",
        "divide",
        "maximum",
        "minimum",
        "power",
        "fmod",
        "arctan2",
        "logical_and",
        "logical_or",
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "where",
        "negative",
        "abs",
        "sign",
        "exp",
        "log",
        "log1p",
        "expm1",
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
        "cosh",
        "tanh",
        "arcsinh",
        "arccosh",
        "arctanh",
        "sqrt",
        "cbrt",
        "floor",
        "ceil",
        "rint",
        "logical_not",
        "isfinite",
        "logistic",
        "erf",
    ]
)

SPECIAL: dict[str, Callable[..., Any]] = {
    "logistic": lambda x: 0.5 + 0.5 * np.tanh(0.5 * x),
    "erf": _erf,
    "astype": lambda x, dtype: np.asarray(x).astype(dtype),
    "reshape": lambda x, shape: np.reshape(x, shape),
    "broadcast_to": lambda x, shape: np.broadcast_to(x, shape),
    "transpose": lambda x, axes: np.transpose(x, axes),
    "concatenate": lambda *x, axis: np.concatenate(x, axis),
    "slice": lambda x, at: x[tuple(slice(*s) for s in at)],
    "piece": _piece,
    "pad": lambda x, width, value: np.pad(x, width, constant_values=value),
    "flip": lambda x, axis: np.flip(x, axis),
    "einsum": lambda *x, spec: np.einsum(spec, *x),
    "sum": lambda x, axis: np.sum(x, axis),
    "max": lambda x, axis: np.max(x, axis),
    "min": lambda x, axis: np.min(x, axis),
    "prod": lambda x, axis: np.prod(x, axis),
    "argmax": lambda x, axis: np.argmax(x, axis),
}
"""The implementations of all kinds that are not a NumPy function of the same name."""


def all_options(kind: str, options: dict[str, Any], out: Value) -> dict[str, Any]:
    """The options of an operation, including the shape or dtype of its result if it needs them."""
    if kind in ("reshape", "broadcast_to"):
        return {**options, "shape": out.shape}
    return {**options, "dtype": out.dtype} if kind == "astype" else options


def evaluate(kind: str, arrays: list[np.ndarray], options: dict[str, Any], out: Value) -> Any:
    """Evaluate an operation with NumPy."""
    function = SPECIAL.get(kind) or getattr(np, kind)
    with np.errstate(all="ignore"):
        made = function(*arrays, **all_options(kind, options, out))
    return np.asarray(made).astype(out.dtype)
