"""Export to NumPy: an `.npz` file, which a short reader runs with NumPy alone."""

import io
import json
from typing import Any

import numpy as np

from shootax.export._graph import Dim, Item, Loop, Op, Value, all_options
from shootax.export._lower import lower
from shootax.export._trace import Traced


def numpy_file(traced: Traced) -> bytes:
    """The contents of the `.npz` file: the weights, and the program as JSON."""
    graph = lower(traced, freeze=True, unroll=False)
    arrays = {value.name: np.asarray(value.data) for value in graph.constants()}
    program = json.dumps(
        {
            "inputs": [[value.name, value.dtype] for value in graph.inputs],
            "items": [entry for item in graph.items for entry in _entries(item)],
            "outputs": [value.name for value in graph.outputs],
        }
    )
    buffer = io.BytesIO()
    np.savez(buffer, **{**arrays, "program": np.array(program)})  # pyright: ignore[reportArgumentType]
    return buffer.getvalue()


def _names(values: tuple[Value, ...]) -> list[str]:
    return [value.name for value in values]


def _entries(item: Item) -> list[list[Any]]:
    """The entries of the program for one item: `[kind, inputs, options, result]`."""
    if isinstance(item, Loop):
        options = {
            "counter": item.counter.name,
            "length": item.length,
            "carried": _names(item.carried),
            "body": [entry for inner in item.body for entry in _entries(inner)],
            "nexts": _names(item.nexts),
            "slices": _names(item.slices),
        }
        outs = [*_names(item.results), *_names(item.stacked)]
        return [["loop", _names(item.starts), options, outs]]
    kind, options = item.kind, all_options(item.kind, item.options, item.out)
    for key in {"shape", "sizes"} & options.keys():
        options = {**options, key: [_size(size) for size in options[key]]}
    if is_matrix_product(item):
        kind, options = "matmul", {}
    if isinstance(options.get("axis"), tuple):  # one axis at a time, the last one first
        before, entries = item.inputs[0].name, []
        for axis in sorted(options["axis"], reverse=True):
            entries.append([kind, [before], {"axis": axis}, item.out.name])
            before = item.out.name
        return entries
    return [[kind, _names(item.inputs), options, item.out.name]]


def is_matrix_product(op: Op) -> bool:
    """Whether an operation is the product of two matrices."""
    if op.kind != "einsum":
        return False
    left, right = op.options["spec"].split("->")[0].split(",")
    out = op.options["spec"].split("->")[1]
    shapes = len(left) == len(right) == len(out) == 2
    return shapes and left[1] == right[0] and out == left[0] + right[1]


def _size(size: int | Dim) -> list[int]:
    return [size.factor, size.offset] if isinstance(size, Dim) else [0, size]
