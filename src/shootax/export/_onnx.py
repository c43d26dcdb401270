"""Export to ONNX, with loops unrolled, constants folded, and any batch size."""

from typing import Any

import numpy as np

import shootax
from shootax.export._graph import Dim, Graph, Loop, Op, Shape, Value
from shootax.export._lower import lower
from shootax.export._trace import Traced, names

OPSET = 18
IR_VERSION = 9

_NODES = {
    "add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "maximum": "Max",
    "minimum": "Min", "power": "Pow", "logical_and": "And", "logical_or": "Or",
    "logical_not": "Not", "equal": "Equal", "less": "Less", "less_equal": "LessOrEqual",
    "greater": "Greater", "greater_equal": "GreaterOrEqual", "where": "Where", "negative": "Neg",
    "abs": "Abs", "sign": "Sign", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos",
    "tan": "Tan", "arcsin": "Asin", "arccos": "Acos", "arctan": "Atan", "sinh": "Sinh",
    "cosh": "Cosh", "tanh": "Tanh", "arcsinh": "Asinh", "arccosh": "Acosh", "arctanh": "Atanh",
    "sqrt": "Sqrt", "floor": "Floor", "ceil": "Ceil", "rint": "Round", "logistic": "Sigmoid",
    "erf": "Erf",
}  # fmt: skip

_REDUCTIONS = {"sum": "ReduceSum", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}


def onnx_file(traced: Traced) -> bytes:
    """The serialised ONNX model, checked by ONNX itself."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError(
            "Export to ONNX needs the package onnx. Install it with pip install 'shootax[export]'."
        ) from error
    graph = lower(traced, freeze=True, unroll=True)
    writer = _Writer(onnx, graph)
    outputs = [
        onnx.helper.make_tensor_value_info(name, _type(onnx, value.dtype), _sizes(value.shape))
        for name, value in zip(names(traced.outputs, "y"), graph.outputs, strict=True)
    ]
    for name, value in zip(names(traced.outputs, "y"), graph.outputs, strict=True):
        writer.node("Identity", [writer.name(value)], name)
    inputs = [
        onnx.helper.make_tensor_value_info(
            value.name, _type(onnx, value.dtype), _sizes(value.shape)
        )
        for value in graph.inputs
    ]
    made = onnx.helper.make_graph(
        writer.nodes, "network", inputs, outputs, list(writer.initializers.values())
    )
    model = onnx.helper.make_model(
        made,
        producer_name="shootax",
        producer_version=shootax.__version__,
        opset_imports=[onnx.helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
    )
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString()


def _type(onnx: Any, dtype: str) -> int:
    return onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _sizes(shape: Shape) -> list[Any]:
    return ["batch" if size == Dim() else None if isinstance(size, Dim) else size for size in shape]


class _Writer:
    """Nodes and initialisers."""

    def __init__(self, onnx: Any, graph: Graph):
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self._shapes: dict[Shape, str] = {}
        self._batch: str | None = None
        self._first = graph.inputs[0].name
        self._count = 0
        for item in graph.items:
            assert not isinstance(item, Loop)
            self.op(item)

    def name(self, value: Value) -> str:
        if value.data is not None:
            self.constant(value.name, value.data)
        return value.name

    def constant(self, name: str, data: Any) -> str:
        if name not in self.initializers:
            array = np.asarray(data)
            self.initializers[name] = self.onnx.numpy_helper.from_array(array.copy(order="C"), name)
        return name

    def numbers(self, values: Any) -> str:
        """A constant list of integers."""
        key = "_".join(map(str, values)).replace("-", "m")
        return self.constant(f"list_{key}", np.asarray(values, np.int64))

    def fresh(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def node(self, kind: str, inputs: list[str], out: str | None = None, **attributes: Any) -> str:
        out = out or self.fresh()
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [out], **attributes))
        return out

    def op(self, op: Op) -> None:
        kind, out = op.kind, op.out.name
        inputs = [self.name(value) for value in op.inputs]
        if kind in _NODES:
            self.node(_NODES[kind], inputs, out)
        elif kind in _REDUCTIONS:
            axes = self.numbers(op.options["axis"])
            self.node(_REDUCTIONS[kind], [*inputs, axes], out, keepdims=0)
        elif kind == "einsum":
            self.product(op, inputs)
        elif kind == "reshape":
            self.node("Reshape", [*inputs, self.reshape_to(op.out.shape)], out)
        elif kind == "broadcast_to":
            self.node("Expand", [*inputs, self.shape(op.out.shape)], out)
        elif kind == "transpose":
            self.node("Transpose", inputs, out, perm=list(op.options["axes"]))
        elif kind == "concatenate":
            self.node("Concat", inputs, out, axis=op.options["axis"])
        elif kind == "astype":
            self.node("Cast", inputs, out, to=_type(self.onnx, op.out.dtype))
        elif kind == "argmax":
            self.node("ArgMax", inputs, out, axis=op.options["axis"], keepdims=0)
        elif kind == "slice":
            self.slice(inputs[0], op.options["at"], out)
        elif kind == "flip":
            at = [
                [-1, -(2**62), -1] if i in op.options["axis"] else [None, None]
                for i in range(len(op.out.shape))
            ]
            self.slice(inputs[0], at, out)
        elif kind == "pad":
            low, high = zip(*op.options["width"], strict=True)
            value = self.constant(f"{out}_pad", np.asarray(op.options["value"], op.out.dtype))
            self.node("Pad", [*inputs, self.numbers([*low, *high]), value], out)
        else:
            self.composed(op, inputs)

    def composed(self, op: Op, inputs: list[str]) -> None:
        """Add the nodes for an operation that ONNX does not have as a single node."""
        kind, out, first = op.kind, op.out.name, inputs[0]

        def number(value: float) -> str:
            return self.constant(f"{out}_number", np.asarray(value, op.inputs[0].dtype))

        if kind == "log1p":
            self.node("Log", [self.node("Add", [first, number(1)])], out)
        elif kind == "expm1":
            self.node("Sub", [self.node("Exp", [first]), number(1)], out)
        elif kind == "not_equal":
            self.node("Not", [self.node("Equal", inputs)], out)
        elif kind == "isfinite":
            either = self.node("Or", [self.node("IsInf", [first]), self.node("IsNaN", [first])])
            self.node("Not", [either], out)
        elif kind == "cbrt":
            size = self.node("Pow", [self.node("Abs", [first]), number(1 / 3)])
            self.node("Mul", [self.node("Sign", [first]), size], out)
        elif kind == "fmod":
            self.node("Mod", inputs, out, fmod=1)
        else:
            raise ValueError(
                f"The operation {kind!r} cannot be exported to ONNX. Export to another format."
            )

    def slice(self, value: str, at: list[list[Any]], out: str) -> None:
        axes = [axis for axis, entry in enumerate(at) if entry != [None, None]]
        columns = [[at[a][0] for a in axes], [at[a][1] for a in axes], axes]
        steps = [at[a][2] if len(at[a]) == 3 else 1 for a in axes]
        self.node("Slice", [value, *map(self.numbers, [*columns, steps])], out)

    def product(self, op: Op, inputs: list[str]) -> None:
        """Write an einsum of two arrays as one MatMul: shared axes first, then free and summed ones."""
        sides, out = op.options["spec"].split("->")
        left, right = sides.split(",")
        sizes = dict(zip(left + right, op.inputs[0].shape + op.inputs[1].shape, strict=True))
        shared = [c for c in left if c in right and c in out]
        summed = [c for c in left if c in right and c not in out]
        free = [[c for c in side if c not in shared + summed] for side in (left, right)]
        a = self.grouped(inputs[0], left, [shared, free[0], summed], sizes)
        b = self.grouped(inputs[1], right, [shared, summed, free[1]], sizes)
        order = [*shared, *free[0], *free[1]]
        unfold = len(free[0]) != 1 or len(free[1]) != 1
        turn = order != list(out)
        product = self.node("MatMul", [a, b], None if unfold or turn else op.out.name)
        if unfold:
            shape = self.reshape_to(tuple(sizes[c] for c in order))
            product = self.node("Reshape", [product, shape], None if turn else op.out.name)
        if turn:
            self.node("Transpose", [product], op.out.name, perm=[order.index(c) for c in out])

    def grouped(self, value: str, axes: str, groups: list[list[str]], sizes: dict) -> str:
        """Transpose the axes to the order of the groups, and merge each of the last two groups."""
        order = [c for group in groups for c in group]
        if order != list(axes):
            value = self.node("Transpose", [value], perm=[axes.index(c) for c in order])
        if len(groups[1]) != 1 or len(groups[2]) != 1:
            ends = tuple(_product([sizes[c] for c in group]) for group in groups[1:])
            shape = (*(sizes[c] for c in groups[0]), *ends)
            value = self.node("Reshape", [value, self.reshape_to(shape)])
        return value

    def reshape_to(self, shape: Shape) -> str:
        """The list of sizes for Reshape, in which one size may be -1."""
        if sum(isinstance(size, Dim) for size in shape) > 1:
            return self.shape(shape)
        return self.numbers([-1 if isinstance(size, Dim) else size for size in shape])

    def shape(self, shape: Shape) -> str:
        """A list of sizes that may depend on the batch size."""
        if not any(isinstance(size, Dim) for size in shape):
            return self.numbers(shape)
        if shape not in self._shapes:
            parts = [self.size(s) if isinstance(s, Dim) else self.numbers([s]) for s in shape]
            self._shapes[shape] = self.node("Concat", parts, axis=0)
        return self._shapes[shape]

    def size(self, size: Dim) -> str:
        if self._batch is None:
            self._batch = self.node("Shape", [self._first], start=0, end=1)
        value = self._batch
        if size.factor != 1:
            value = self.node("Mul", [value, self.numbers([size.factor])])
        if size.offset:
            value = self.node("Add", [value, self.numbers([size.offset])])
        return value


def _product(sizes: list[int | Dim]) -> int | Dim:
    open_sizes = [size for size in sizes if isinstance(size, Dim)]
    fixed = int(np.prod([size for size in sizes if isinstance(size, int)]))
    if not open_sizes:
        return fixed
    (size,) = open_sizes
    return Dim(size.factor * fixed, size.offset * fixed)
