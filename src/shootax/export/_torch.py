"""Export to PyTorch: a Python file with a module that only needs torch, and a file of weights.

The weights keep their names and shapes, so the state dict matches the tree of the baked model, and they
stay trainable. Writing the files does not need PyTorch.
"""

import ast
import hashlib
import json
import keyword
import re
from typing import Any

import numpy as np
import safetensors.numpy

import shootax
from shootax.export._graph import Dim, Graph, Item, Op, Shape, Value
from shootax.export._lower import lower
from shootax.export._numpy import is_matrix_product
from shootax.export._trace import Traced

HEAD = '''"""A network exported by shootax {version}. It only needs PyTorch.

{usage}
"""

import hashlib
import json

import torch

EXPORT = {export!r}

PARAMETERS = {parameters}

CONSTANTS = {constants}

DTYPES = {{"F32": torch.float32, "F64": torch.float64, "I32": torch.int32, "I64": torch.int64,
          "BOOL": torch.bool}}


def read(path):
    """The state dict in a safetensors file. Files written by shootax have a checksum."""
    with open(path, "rb") as file:
        content = file.read()
    try:
        size = int.from_bytes(content[:8], "little")
        header, data = json.loads(content[8 : 8 + size]), bytearray(content[8 + size :])
        about, out = header.pop("__metadata__", {{}}), {{}}
        digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode() + data).hexdigest()
        mine = about.get("program") == "shootax"
        if mine and about.get("checksum") != digest:
            raise ValueError("its checksum does not match")
        if mine and about.get("export") != EXPORT:
            raise ValueError("it belongs to another module. Export the model again")
        for name, entry in header.items():
            start, stop = entry["data_offsets"]
            tensor = torch.frombuffer(data[start:stop], dtype=DTYPES[entry["dtype"]])
            out[name] = tensor.reshape(entry["shape"])
    except (ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        raise ValueError(f"{{path}} cannot be read as weights of this module ({{error}}).") from error
    return out


def load(path):
    """The module with its weights."""
    state = read(path)
    model = Model()
    if any(state[name].dtype == torch.float64 for name in PARAMETERS if name in state):
        model = model.double()
    try:
        model.load_state_dict(state)
    except RuntimeError as error:
        raise ValueError(f"{{path}} does not hold the weights of this module ({{error}}).") from error
    return model


class Model(torch.nn.Module):
    """Take {inputs}, with any batch size, and return {outputs}."""

    def __init__(self):
        super().__init__()
        for name, shape in PARAMETERS.items():
            place, last = self._place(name)
            place.register_parameter(last, torch.nn.Parameter(torch.zeros(shape)))
        for name, (shape, dtype) in CONSTANTS.items():
            place, last = self._place(name)
            place.register_buffer(last, torch.zeros(shape, dtype=getattr(torch, dtype)))

    def _place(self, name):
        *parents, last = name.split(".")
        place = self
        for parent in parents:
            if parent not in place._modules:
                place.add_module(parent, torch.nn.Module())
            place = place._modules[parent]
        return place, last

    def forward(self, {arguments}):
        w = {{**dict(self.named_parameters()), **dict(self.named_buffers())}}
        batch = {first}.shape[0]
'''

_INFIX = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "power": "**",
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=",
}  # fmt: skip

_CALLS = {
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_not": "logical_not",
    "maximum": "maximum", "minimum": "minimum", "fmod": "fmod", "arctan2": "atan2", "where": "where",
    "negative": "neg", "abs": "abs", "sign": "sign", "exp": "exp", "log": "log", "log1p": "log1p",
    "expm1": "expm1", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin", "arccos": "acos",
    "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "arcsinh": "asinh",
    "arccosh": "acosh", "arctanh": "atanh", "sqrt": "sqrt", "floor": "floor", "ceil": "ceil",
    "rint": "round", "isfinite": "isfinite", "logistic": "sigmoid", "erf": "erf",
}  # fmt: skip

_TENSORS_ONLY = ("maximum", "minimum", "arctan2")


def torch_files(traced: Traced, module: str, weights: str) -> tuple[bytes, bytes]:
    """The source of the module, and the safetensors file of its state dict."""
    graph = lower(traced, freeze=False, unroll=False)
    arrays = {name: np.asarray(data) for name, data in traced.weights.items()}
    constants = {
        _stored(value): np.asarray(value.data) for value in graph.constants() if _is_stored(value)
    }
    writer = _Writer(graph)
    arguments = ", ".join(writer.name(value) for value in graph.inputs)
    parameters = _listed({name: list(a.shape) for name, a in arrays.items()})
    stored = _listed({n: (list(a.shape), str(a.dtype)) for n, a in constants.items()})
    outputs = ", ".join(writer.name(value) for value in graph.outputs)
    body = [*writer.lines, f"        return {outputs}"]
    # The weights of another module could have the same shapes, so both files contain this digest.
    export = hashlib.sha256("\n".join([parameters, stored, *body]).encode()).hexdigest()
    head = HEAD.format(
        version=shootax.__version__,
        export=export,
        usage=_usage(module, weights, arguments),
        arguments=arguments,
        parameters=parameters,
        constants=stored,
        inputs=", ".join(f"`{writer.name(v)}` {_described(v.shape)}" for v in graph.inputs),
        outputs=" and ".join(_described(value.shape) for value in graph.outputs),
        first=writer.name(graph.inputs[0]),
    )
    source = "\n".join([head.rstrip("\n"), *body]) + "\n"
    _check(source)
    return source.encode(), _weights_file({**arrays, **constants}, export)


def _weights_file(state: dict[str, np.ndarray], export: str) -> bytes:
    """The safetensors file of a state dict, with the checksum that `read` in `HEAD` compares."""
    plain = safetensors.numpy.save(state)
    size = int.from_bytes(plain[:8], "little")
    entries = json.dumps(json.loads(plain[8 : 8 + size]), sort_keys=True)
    digest = hashlib.sha256(entries.encode() + plain[8 + size :]).hexdigest()
    about = {"program": "shootax", "checksum": digest, "export": export}
    return safetensors.numpy.save(state, metadata=about)


def _usage(module: str, weights: str, arguments: str) -> str:
    """Usage lines for the module's docstring. They quote only file names without special characters."""
    plain = module.isascii() and module.isidentifier() and not keyword.iskeyword(module)
    first = f"from {module} import load" if plain else "load = ...  # of this file, by importlib"
    shown = weights if re.fullmatch(r"[A-Za-z0-9._-]+", weights) else "weights.safetensors"
    return (
        f"    {first}\n\n"
        f'    model = load("{shown}")  # a torch.nn.Module, trainable\n'
        f"    y = model({arguments})"
    )


def _check(source: str) -> None:
    """Raise if a name injected code: the source must have exactly the top-level parts of `HEAD`."""
    found, wanted = (
        [type(node).__name__ for node in ast.parse(text).body] for text in (source, _PARTS)
    )
    if found != wanted:
        raise ValueError(
            "A name in the model, or the file name, would become code in the exported file. Rename it."
        )


_PARTS = """''
import hashlib
import json
import torch
EXPORT = 0
PARAMETERS = 0
CONSTANTS = 0
DTYPES = 0
def read(): ...
def load(): ...
class Model: ...
"""


def _identifiers(names: list[str]) -> list[str]:
    """Distinct Python identifiers for arbitrary names."""
    found: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        while plain in found:
            plain += "_"
        found.append(plain)
    return found


def _listed(entries: dict[str, Any]) -> str:
    lines = "".join(f"    {name!r}: {value!r},\n" for name, value in entries.items())
    return "{\n" + lines + "}" if lines else "{}"


def _described(shape: Shape) -> str:
    sizes = ["batch" if size == Dim() else _size(size) for size in shape]
    return f"({', '.join(sizes)})"


def _is_stored(value: Value) -> bool:
    return value.known and value.shape != ()


def _stored(value: Value) -> str:
    return f"constants.{value.name.replace('/', '_').replace('.', '_')}"


def _size(size: int | Dim) -> str:
    if isinstance(size, int):
        return str(size)
    scaled = "batch" if size.factor == 1 else f"{size.factor} * batch"
    return f"{scaled} + {size.offset}" if size.offset else scaled


class _Writer:
    """The lines of `forward`."""

    def __init__(self, graph: Graph):
        self.lines: list[str] = []
        given = [value.name for value in graph.inputs]
        self.arguments = dict(zip(given, _identifiers(given), strict=True))
        self.first = self.arguments[given[0]]
        self.counters: set[Value] = set()
        for item in graph.items:
            self.item(item, "        ")

    def name(self, value: Value) -> str:
        if value.weight:
            return f"w[{value.name!r}]"
        if _is_stored(value):
            return f"w[{_stored(value)!r}]"
        if value.data is not None:
            return _literal(value.data)
        return self.arguments.get(value.name, value.name)

    def item(self, item: Item, indent: str) -> None:
        if isinstance(item, Op):
            self.lines.append(f"{indent}{self.name(item.out)} = {self.expression(item)}")
            return
        self.counters.add(item.counter)
        stacks = [f"{self.name(value)}_slices" for value in item.stacked]
        for name in stacks:
            self.lines.append(f"{indent}{name} = []")
        self._assign(indent, item.carried, item.starts)
        self.lines.append(f"{indent}for {item.counter.name} in range({item.length}):")
        for inner in item.body:
            self.item(inner, indent + "    ")
        for name, value in zip(stacks, item.slices, strict=True):
            self.lines.append(f"{indent}    {name}.append({self.name(value)})")
        self._assign(indent + "    ", item.carried, item.nexts)
        self._assign(indent, item.results, item.carried)
        for name, value in zip(stacks, item.stacked, strict=True):
            self.lines.append(f"{indent}{self.name(value)} = torch.stack({name})")

    def _assign(self, indent: str, to: tuple[Value, ...], values: tuple[Value, ...]) -> None:
        if to:
            left, right = (", ".join(self.name(v) for v in side) for side in (to, values))
            self.lines.append(f"{indent}{left} = {right}")

    def expression(self, op: Op) -> str:
        names = [self.name(value) for value in op.inputs]
        kind, options, first = op.kind, op.options, names[0]
        if kind in _INFIX:
            return f"{names[0]} {_INFIX[kind]} {names[1]}"
        if kind in _CALLS:
            if kind in _TENSORS_ONLY:
                names = [self._tensor(v, n) for v, n in zip(op.inputs, names, strict=True)]
            return f"torch.{_CALLS[kind]}({', '.join(names)})"
        if kind == "cbrt":
            return f"torch.sign({first}) * torch.abs({first}) ** (1 / 3)"
        if kind == "astype":
            return f"{self._tensor(op.inputs[0], first)}.to(torch.{op.out.dtype})"
        if kind in ("reshape", "broadcast_to"):
            sizes = "".join(f"{_size(size)}, " for size in op.out.shape)
            method = "reshape" if kind == "reshape" else "expand"
            return f"{self._tensor(op.inputs[0], first)}.{method}(({sizes.rstrip()}))"
        if kind == "transpose":
            return f"{first}.permute({options['axes']})"
        if kind == "concatenate":
            return f"torch.cat([{', '.join(names)}], dim={options['axis']})"
        if kind == "slice":
            return f"{first}[{', '.join(map(_range, options['at']))}]"
        if kind == "piece":
            ranges = []
            for start, name, size, full in zip(
                op.inputs[1:], names[1:], options["sizes"], op.inputs[0].shape, strict=True
            ):
                whole = start.known and size == full
                ranges.append(":" if whole else f"{name} : {name} + {size}")
            return f"{first}[{', '.join(ranges)}]"
        if kind == "pad":
            width = [n for pair in reversed(options["width"]) for n in pair]
            value = _literal(np.asarray(options["value"]))
            return f"torch.nn.functional.pad({first}, {width}, value={value})"
        if kind == "einsum":
            product = is_matrix_product(op)
            return (
                " @ ".join(names)
                if product
                else f"torch.einsum({options['spec']!r}, {', '.join(names)})"
            )
        if kind == "prod":
            axes = sorted(options["axis"], reverse=True)
            return first + "".join(f".prod(dim={axis})" for axis in axes)
        calls = {"sum": "sum", "max": "amax", "min": "amin", "argmax": "argmax", "flip": "flip"}
        word = "dims" if kind == "flip" else "dim"
        return f"torch.{calls[kind]}({first}, {word}={options['axis']})"

    def _tensor(self, value: Value, name: str) -> str:
        """An expression for `value` as a tensor; numbers are put on the device of the input."""
        number = value in self.counters or (value.known and not value.shape)
        if not number:
            return name
        return f"torch.tensor({name}, dtype=torch.{value.dtype}, device={self.first}.device)"


def _range(entry: list[int | None]) -> str:
    return ":".join("" if end is None else str(end) for end in entry)


def _literal(data: np.ndarray) -> str:
    number = data.item()
    if isinstance(number, float) and not np.isfinite(number):
        return f"float({str(number)!r})"
    return repr(number)
