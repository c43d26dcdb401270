"""Build graphs of operations, with constant folding and common subexpressions merged."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from shootax.export._graph import ELEMENTWISE, Dim, Item, Loop, Op, Shape, Value, evaluate

LARGE = 1 << 16
"""Operations that enlarge one constant, such as broadcasting zeros, are only folded up to this size."""


class Builder:
    """Collects the operations of a graph, or of the body of one of its loops.

    **Arguments:**

    - `freeze`: whether weights count as constants, so that operations on weights alone are evaluated.
    - `parent`: for the body of a loop, the builder that contains the loop.
    """

    def __init__(self, freeze: bool, parent: "Builder | None" = None):
        self.freeze = freeze
        self.items: list[Item] = []
        self.parent = parent
        self._names: list[int] = parent._names if parent else [0]
        self._seen: dict[Any, Value] = {}
        self._thin: dict[Value, Value] = parent._thin if parent else {}
        self.counters: set[Value] = parent.counters if parent else set()

    def fresh(self, shape: Shape, dtype: str, prefix: str = "v") -> Value:
        """A new value without data."""
        self._names[0] += 1
        return Value(f"{prefix}{self._names[0]}", shape, str(dtype))

    def constant(self, data: Any, like: tuple[Value, ...] = ()) -> Value:
        """A constant. If it is computed from weights, its name is theirs with a number."""
        array = np.asarray(data)
        self._names[0] += 1
        named = [value.name.split("/")[0] for value in like if value.weight or "/" in value.name]
        name = f"{_common(named)}/{self._names[0]}" if named else f"c{self._names[0]}"
        return Value(name, array.shape, str(array.dtype), array)

    def op(self, kind: str, *inputs: Value, shape: Shape, dtype: str, **options: Any) -> Value:
        """Add an operation, unless it can be evaluated or is there already, and return its result."""
        if kind in ELEMENTWISE:
            inputs = self._slim(inputs, shape)
        if self._foldable(inputs, shape):
            known = [np.asarray(value.data) for value in inputs]
            out = Value("", shape, dtype)
            return self.constant(evaluate(kind, known, options, out), inputs)
        if kind == "less" and inputs[0] in self.counters and _is_zero(inputs[1]):
            return self.constant(np.array(False))  # a loop's counter is never negative
        if kind == "where" and inputs[0].known and not inputs[0].shape:
            chosen = inputs[1] if np.asarray(inputs[0].data) else inputs[2]
            if chosen.shape == shape:
                return chosen
        key = (kind, tuple(map(_key, inputs)), repr(options), shape, dtype)
        found = self._lookup(key)
        if found is None:
            found = self.fresh(shape, dtype)
            self.items.append(Op(kind, inputs, options, found))
            self._seen[key] = found
            if kind == "broadcast_to":
                self._thin[found] = inputs[0]
        return found

    def loop(self, loop: Loop) -> None:
        self.items.append(loop)

    def _foldable(self, inputs: Sequence[Value], shape: Shape) -> bool:
        if not inputs or any(isinstance(size, Dim) for size in shape):
            return False
        known: list[Any] = [
            v.data for v in inputs if v.known or (self.freeze and v.data is not None)
        ]
        if len(known) < len(inputs):
            return False
        made = int(np.prod([int(size) for size in shape if isinstance(size, int)]))
        return len(inputs) > 1 or made <= max(LARGE, np.size(known[0]))

    def _slim(self, inputs: tuple[Value, ...], shape: Shape) -> tuple[Value, ...]:
        """Operands before broadcasting, if another operand has the full shape."""

        def full(value: Value) -> bool:
            return value.shape == shape

        thin = tuple(self._thin.get(value, value) for value in inputs)
        if not any(map(full, thin)):
            return inputs
        return tuple(value if full(value) else self._scalar(value) for value in thin)

    def _scalar(self, value: Value) -> Value:
        """`value`, as an array without axes if it is a constant with one entry."""
        if value.known and value.shape and value.data is not None and value.data.size == 1:
            return self.constant(value.data.reshape(()))
        return value

    def _lookup(self, key: Any) -> Value | None:
        builder: Builder | None = self
        while builder is not None:
            if key in builder._seen:
                return builder._seen[key]
            builder = builder.parent
        return None


def _key(value: Value) -> Any:
    if value.known and value.data is not None and value.data.size <= 4:
        return value.shape, value.dtype, value.data.tobytes()
    return value


def _is_zero(value: Value) -> bool:
    return value.known and not np.any(value.data)


def _common(names: Sequence[str]) -> str:
    """The longest run of leading parts that all names share."""
    parts = [name.split(".") for name in names]
    shared = [column[0] for column in zip(*parts, strict=False) if len(set(column)) == 1]
    return ".".join(shared) or "weights"
