"""Rules that express each primitive of a traced program by the operations of `_graph.py`."""

import itertools
import string
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shootax.export._builder import Builder
from shootax.export._graph import Dim, Shape, Value, dim

_REAL = ("divide", "fmod", "logical_and", "logical_or", "logical_not")
"""Kinds with a different meaning for integers."""

Rule = Callable[[Builder, list[Value], dict[str, Any], Shape, str], Value]


def _plain(kind: str) -> Rule:
    def rule(b: Builder, v: list[Value], params: dict[str, Any], shape: Shape, dtype: str) -> Value:
        made = b.op(kind, *v, shape=shape, dtype=dtype)
        if not made.known and kind in _REAL and dtype.startswith("int"):
            raise ValueError(f"Integer arithmetic ({kind}) on the input cannot be exported.")
        return made

    return rule


def _same(b: Builder, v: list[Value], params: dict[str, Any], shape: Shape, dtype: str) -> Value:
    return v[0]


def _number(b: Builder, like: Value, number: float) -> Value:
    return b.constant(np.asarray(number, like.dtype))


def _rsqrt(b: Builder, v: list[Value], params: dict[str, Any], shape: Shape, dtype: str) -> Value:
    root = b.op("sqrt", v[0], shape=shape, dtype=dtype)
    return b.op("divide", _number(b, v[0], 1), root, shape=shape, dtype=dtype)


def _erfc(b: Builder, v: list[Value], params: dict[str, Any], shape: Shape, dtype: str) -> Value:
    inner = b.op("erf", v[0], shape=shape, dtype=dtype)
    return b.op("subtract", _number(b, v[0], 1), inner, shape=shape, dtype=dtype)


def _exp2(b: Builder, v: list[Value], params: dict[str, Any], shape: Shape, dtype: str) -> Value:
    return b.op("power", _number(b, v[0], 2), v[0], shape=shape, dtype=dtype)


def _square(b: Builder, v: list[Value], params: dict[str, Any], shape: Shape, dtype: str) -> Value:
    return b.op("multiply", v[0], v[0], shape=shape, dtype=dtype)


def _integer_pow(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    power, base = abs(params["y"]), v[0]
    out, factor = None, base
    while power:  # by squaring, which is as accurate for negative numbers as for positive ones
        if power % 2:
            out = factor if out is None else b.op("multiply", out, factor, shape=shape, dtype=dtype)
        power //= 2
        factor = b.op("multiply", factor, factor, shape=shape, dtype=dtype) if power else factor
    if out is None:
        return b.op("broadcast_to", _number(b, base, 1), shape=shape, dtype=dtype)
    if params["y"] < 0:
        out = b.op("divide", _number(b, base, 1), out, shape=shape, dtype=dtype)
    return out


def _power(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    return b.op("power", v[0], _cast(b, v[1], v[0].dtype), shape=shape, dtype=dtype)


def _cast(b: Builder, value: Value, dtype: str) -> Value:
    if value.dtype == dtype:
        return value
    return b.op("astype", value, shape=value.shape, dtype=dtype)


def _convert(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    return v[0] if v[0].dtype == dtype else b.op("astype", v[0], shape=shape, dtype=dtype)


def _select(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    if len(v) != 3 or v[0].dtype != "bool":
        raise ValueError("A choice among more than two arrays (select_n) cannot be exported.")
    return b.op("where", v[0], v[2], v[1], shape=shape, dtype=dtype)


def _clamp(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    raised = b.op("maximum", v[1], v[0], shape=shape, dtype=dtype)
    return b.op("minimum", raised, v[2], shape=shape, dtype=dtype)


def reshaped(b: Builder, value: Value, shape: Shape) -> Value:
    if value.shape == shape:
        return value
    return b.op("reshape", value, shape=shape, dtype=value.dtype)


def _reshape(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    return reshaped(b, v[0], shape)


def _broadcast(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    sizes: list[int | Dim] = [1] * len(shape)
    for axis, size in zip(params["broadcast_dimensions"], v[0].shape, strict=True):
        sizes[int(axis)] = size
    spread = reshaped(b, v[0], tuple(sizes))
    if spread.shape == shape:
        return spread
    return b.op("broadcast_to", spread, shape=shape, dtype=dtype)


def _transpose(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    axes = tuple(int(axis) for axis in params["permutation"])
    if axes == tuple(range(len(axes))):
        return v[0]
    return b.op("transpose", v[0], shape=shape, dtype=dtype, axes=axes)


def _concatenate(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    parts = [value for value in v if value.shape[params["dimension"]] != 0]
    if len(parts) == 1:
        return parts[0]
    axis = int(params["dimension"])
    return b.op("concatenate", *(parts or v), shape=shape, dtype=dtype, axis=axis)


def _stack(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    axis = int(params.get("axis", params.get("dimension", 0))) % len(shape)
    single = tuple(1 if i == axis else size for i, size in enumerate(shape))
    parts = [reshaped(b, value, single) for value in v]
    return b.op("concatenate", *parts, shape=shape, dtype=dtype, axis=axis)


def cut(b: Builder, value: Value, starts: Sequence[Any], stops: Sequence[Any], steps: Any = None):
    """`value[start:stop:step, ...]`. Axes of unknown size are kept whole."""
    at, shape = [], []
    for axis, size in enumerate(value.shape):
        start, stop = dim(starts[axis]), dim(stops[axis])
        step = 1 if steps is None else int(steps[axis])
        if start == 0 and stop == size and step == 1:
            at.append([None, None])
            shape.append(size)
        elif isinstance(size, Dim) or isinstance(start, Dim) or isinstance(stop, Dim):
            raise ValueError(
                "A slice of the batch axis cannot be exported. Process each sample separately."
            )
        else:
            at.append([start, stop] if step == 1 else [start, stop, step])
            shape.append(-(-(stop - start) // step))
    if all(entry == [None, None] for entry in at):
        return value
    return b.op("slice", value, shape=tuple(shape), dtype=value.dtype, at=at)


def split(b: Builder, value: Value, sizes: Sequence[int], axis: int) -> list[Value]:
    """Split a value along an axis into parts of the given sizes."""
    ends = list(itertools.accumulate(sizes, initial=0))
    parts = []
    for start, stop in itertools.pairwise(ends):
        starts, stops = [0] * len(value.shape), list(value.shape)
        starts[axis], stops[axis] = start, stop
        parts.append(cut(b, value, starts, stops))
    return parts


def _slice(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    return cut(b, v[0], params["start_indices"], params["limit_indices"], params["strides"])


def _dynamic_slice(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    array, starts = v[0], v[1:]
    sizes = [dim(size) for size in params["slice_sizes"]]
    fixed = [start.known for start in starts]
    places = [
        max(0, min(int(np.asarray(start.data)), _difference(full, size))) if known else None
        for start, known, full, size in zip(starts, fixed, array.shape, sizes, strict=True)
    ]
    # Axes with a known start are cut first, so that only the others need computed starts.
    first = [0 if place is None else place for place in places]
    last = [
        full if place is None else (full if size == full else place + size)  # pyright: ignore
        for place, size, full in zip(places, sizes, array.shape, strict=True)
    ]
    array = cut(b, array, first, last)
    if all(fixed):
        return array
    zero = b.constant(np.zeros((), "int32"))
    moving = [zero if known else start for start, known in zip(starts, fixed, strict=True)]
    return b.op("piece", array, *moving, shape=shape, dtype=dtype, sizes=tuple(sizes))


def _difference(full: int | Dim, size: int | Dim) -> int:
    return 0 if isinstance(full, Dim) or isinstance(size, Dim) else full - size


def _gather(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    """A gather that is equivalent to slices: at one known start, or at known indices of one axis."""
    numbers, array, index = params["dimension_numbers"], v[0], v[1]
    sizes = [dim(size) for size in params["slice_sizes"]]
    if index.known and not numbers.operand_batching_dims:
        places = np.asarray(index.data)
        if places.ndim == 1:
            return reshaped(b, _block(b, array, numbers.start_index_map, places, sizes), shape)
        axes = numbers.start_index_map
        others = tuple(axis for axis in range(len(shape)) if axis not in axes)
        listed = places.ndim == 2 and len(axes) == 1 and numbers.collapsed_slice_dims == axes
        if listed and numbers.offset_dims == others:
            parts = [_block(b, array, axes, place, sizes) for place in places]
            return b.op("concatenate", *parts, shape=shape, dtype=dtype, axis=int(axes[0]))
    raise ValueError(
        "Indexing with a computed array (gather) cannot be exported. Use slices, or indices that are "
        "known when the model is traced."
    )


def _block(b: Builder, array: Value, axes: Any, place: np.ndarray, sizes: list) -> Value:
    """The slice of an array that starts at `place` along the `axes`."""
    starts: list[Any] = [0] * len(array.shape)
    for axis, start in zip(axes, place, strict=True):
        starts[axis] = int(start)
    stops = [
        full if size == full else start + size
        for start, size, full in zip(starts, sizes, array.shape, strict=True)
    ]
    return cut(b, array, starts, stops)


def _pad(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    array, value = v
    config = [tuple(int(n) for n in entry) for entry in params["padding_config"]]
    if any(inner for _, _, inner in config) or not value.known:
        raise ValueError(
            "Padding between entries (interior padding), or with a computed value, cannot be exported."
        )
    starts = [max(0, -low) for low, _, _ in config]
    stops = [
        size if isinstance(size, Dim) else size - max(0, -high)
        for size, (_, high, _) in zip(array.shape, config, strict=True)
    ]
    array = cut(b, array, starts, stops)
    width = [[max(0, low), max(0, high)] for low, high, _ in config]
    if not any(map(any, width)):
        return array
    number = float(np.asarray(value.data))
    return b.op("pad", array, shape=shape, dtype=dtype, width=width, value=number)


def _iota(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    axis = params["dimension"]
    if isinstance(shape[axis], Dim):
        raise ValueError(
            "Numbering the samples (iota) cannot be exported. Process each sample separately."
        )
    line = np.arange(shape[axis]).astype(dtype)  # pyright: ignore[reportArgumentType]
    single = tuple(len(line) if i == axis else 1 for i in range(len(shape)))
    value = b.constant(line.reshape(single))
    return value if single == shape else b.op("broadcast_to", value, shape=shape, dtype=dtype)


def _reduce(kind: str) -> Rule:
    def rule(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
        axes = tuple(int(axis) for axis in params["axes"])
        if not axes:
            return v[0]
        return b.op(kind, v[0], shape=shape, dtype=dtype, axis=axes)

    return rule


def _argmax(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    (axis,) = params["axes"]
    found = b.op("argmax", v[0], shape=shape, dtype="int64", axis=int(axis))
    return _cast(b, found, dtype)


def _flip(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    axes = tuple(int(axis) for axis in params["dimensions"])
    return b.op("flip", v[0], shape=shape, dtype=dtype, axis=axes)


def _dot(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    (left, right), (left_batch, right_batch) = params["dimension_numbers"]
    letters = iter(string.ascii_lowercase)
    names: list[dict[int, str]] = [{}, {}]
    shared = ""
    for i, j in zip(left_batch, right_batch, strict=True):
        names[0][i] = names[1][j] = next(letters)
        shared += names[0][i]
    for i, j in zip(left, right, strict=True):
        names[0][i] = names[1][j] = next(letters)
    free = ["", ""]
    for side, value in enumerate(v):
        for axis in range(len(value.shape)):
            if axis not in names[side]:
                names[side][axis] = next(letters)
                free[side] += names[side][axis]
    a, c = ("".join(n[axis] for axis in range(len(n))) for n in names)
    spec = f"{a},{c}->{shared}{free[0]}{free[1]}"
    return b.op("einsum", *v, shape=shape, dtype=dtype, spec=spec)


def _convolution(b: Builder, v: list[Value], params: dict, shape: Shape, dtype: str) -> Value:
    """Concatenate all shifts of the image within the window, and take one product."""
    image, filters = v
    numbers, space = params["dimension_numbers"], shape[2:]
    order = tuple(range(len(shape)))
    usual = numbers.lhs_spec == numbers.rhs_spec == numbers.out_spec == order
    if not usual or params["batch_group_count"] != 1 or set(params["lhs_dilation"]) - {1}:
        raise ValueError(
            "Only convolutions with axes (batch, channels, *space), without batch groups and without "
            "dilation of the input, can be exported."
        )
    config = [(0, 0, 0), (0, 0, 0), *((low, high, 0) for low, high in params["padding"])]
    sizes: Any = [
        n + low + high for n, (low, high, _) in zip(image.shape[2:], config[2:], strict=True)
    ]  # pyright: ignore
    zero = b.constant(np.zeros((), dtype))
    padded = _pad(b, [image, zero], {"padding_config": config}, (*image.shape[:2], *sizes), dtype)
    groups, batch = params["feature_group_count"], image.shape[0]
    out, inner, *window = filters.shape
    shifted = []
    for corner in itertools.product(*map(range, window)):  # pyright: ignore[reportArgumentType]
        first = [c * d for c, d in zip(corner, params["rhs_dilation"], strict=True)]
        steps = params["window_strides"]
        last = [f + (n - 1) * s + 1 for f, n, s in zip(first, space, steps, strict=True)]  # pyright: ignore
        part = cut(b, padded, [0, 0, *first], [*padded.shape[:2], *last], [1, 1, *steps])
        shifted.append(reshaped(b, part, (batch, groups, inner, 1, *space)))
    places = len(shifted)
    stacked = (batch, groups, inner, places, *space)
    patches = b.op("concatenate", *shifted, shape=stacked, dtype=dtype, axis=3)
    banks = reshaped(b, filters, (groups, out // groups, inner, places))  # pyright: ignore
    letters = string.ascii_lowercase[5 : 5 + len(space)]
    spec = f"abcd{letters},becd->abe{letters}"
    full = (batch, groups, out // groups, *space)  # pyright: ignore
    return reshaped(b, b.op("einsum", patches, banks, shape=full, dtype=dtype, spec=spec), shape)


_RENAMED = {
    "add": "add", "add_any": "add", "sub": "subtract", "mul": "multiply", "div": "divide",
    "max": "maximum", "min": "minimum", "rem": "fmod", "atan2": "arctan2",
    "and": "logical_and", "or": "logical_or", "not": "logical_not",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal", "neg": "negative", "abs": "abs", "sign": "sign", "exp": "exp", "log": "log",
    "log1p": "log1p", "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "asin": "arcsin",
    "acos": "arccos", "atan": "arctan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "sqrt": "sqrt", "cbrt": "cbrt",
    "floor": "floor", "ceil": "ceil", "round": "rint", "is_finite": "isfinite",
    "logistic": "logistic", "erf": "erf",
}  # fmt: skip

RULES: dict[str, Rule] = {
    **{name: _plain(kind) for name, kind in _RENAMED.items()},
    "copy": _same, "copy_p": _same, "stop_gradient": _same, "optimization_barrier": _same,
    "rsqrt": _rsqrt, "erfc": _erfc, "exp2": _exp2, "square": _square, "integer_pow": _integer_pow,
    "pow": _power, "convert_element_type": _convert, "select_n": _select, "clamp": _clamp,
    "reshape": _reshape, "squeeze": _reshape, "expand_dims": _reshape,
    "broadcast_in_dim": _broadcast, "transpose": _transpose, "concatenate": _concatenate,
    "stack": _stack, "slice": _slice, "dynamic_slice": _dynamic_slice, "gather": _gather, "pad": _pad,
    "iota": _iota, "rev": _flip, "reduce_sum": _reduce("sum"), "reduce_max": _reduce("max"),
    "reduce_min": _reduce("min"), "reduce_prod": _reduce("prod"), "argmax": _argmax,
    "dot_general": _dot, "conv_general_dilated": _convolution,
}  # fmt: skip
"""The rule of each primitive with one result. Calls and loops are in `lower`."""
