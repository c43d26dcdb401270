"""Run a network from its .npz file with NumPy alone: `model = load("net.npz"); y = model(x)`.

The file contains only data: it chooses among the operations below, and cannot call other functions. A
file that does not follow the format raises a `ProgramError` before anything is computed.
"""

import json
import math
import os
import re

import numpy as np


class ProgramError(ValueError):
    """The file is not a network that this reader can run, or the input does not fit it."""


MOST_ROUNDS, DEEPEST = 100_000, 8  # limits of loops: iterations, and levels of nesting

DTYPES = {
    name: np.dtype(name)
    for name in (
        "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
        "float16", "float32", "float64",
    )
}  # fmt: skip


def logistic(x):
    return 0.5 + 0.5 * np.tanh(0.5 * x)


def erf(x):
    x = np.asarray(x)
    return np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype)


def cut(x, at):
    """`x[start:stop:step, ...]`, for ranges within the array."""
    if len(at) > np.ndim(x):
        raise ValueError(f"{len(at)} ranges for an array of shape {np.shape(x)}")
    for (start, stop, step), size in zip(at, np.shape(x)):
        if start is not None and not (0 <= start <= stop <= size and step >= 1):
            raise ValueError(f"the range {start}:{stop}:{step} of an axis of {size} entries")
    return x[tuple(slice(*entry) for entry in at)]


def piece(x, *starts, sizes):
    """The slice of `x` with given sizes and computed starts."""
    if len(starts) != len(sizes):
        raise ValueError(f"{len(starts)} starts for {len(sizes)} sizes")
    return cut(x, [(int(s), int(s) + n, 1) for s, n in zip(starts, sizes)])


def pad(x, width, value):
    return np.pad(x, width, constant_values=value)


UNARY = {
    "negative": np.negative, "abs": np.abs, "sign": np.sign, "exp": np.exp, "log": np.log,
    "log1p": np.log1p, "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "arcsin": np.arcsin, "arccos": np.arccos, "arctan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "arcsinh": np.arcsinh, "arccosh": np.arccosh,
    "arctanh": np.arctanh, "sqrt": np.sqrt, "cbrt": np.cbrt, "floor": np.floor, "ceil": np.ceil,
    "rint": np.rint, "logical_not": np.logical_not, "isfinite": np.isfinite,
    "logistic": logistic, "erf": erf,
}  # fmt: skip

BINARY = {
    "add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide,
    "maximum": np.maximum, "minimum": np.minimum, "power": np.power, "fmod": np.fmod,
    "arctan2": np.arctan2, "logical_and": np.logical_and, "logical_or": np.logical_or,
    "equal": np.equal, "not_equal": np.not_equal, "less": np.less, "less_equal": np.less_equal,
    "greater": np.greater, "greater_equal": np.greater_equal, "matmul": np.matmul,
}  # fmt: skip


def need(condition, what):
    if not condition:
        raise ProgramError(f"The file is not a network that can be run: {what}.")


def whole(value, least=-(2**62)):
    need(type(value) is int and least <= value < 2**62, f"{show(value)} is not an integer in range")
    return value


def sequence(value, of):
    need(type(value) is list and len(value) <= 10**6, f"{show(value)} is not a list")
    return [of(entry) for entry in value]


def name(value):
    need(type(value) is str, f"{show(value)} is not a name")
    return value


def size(value):
    """A size is written as factor, offset: `factor * batch + offset`."""
    need(type(value) is list and len(value) == 2, f"{show(value)} is not a size")
    return tuple(whole(entry) for entry in value)


def limits(value):
    need(type(value) is list and len(value) in (2, 3), f"{show(value)} is not a range")
    if value == [None, None]:
        return (None, None, 1)
    start, stop, step = (*value, 1)[:3]
    return whole(start, 0), whole(stop, 0), whole(step, 1)


def pair(value):
    need(type(value) is list and len(value) == 2, f"{show(value)} is not a pair")
    return tuple(whole(entry, 0) for entry in value)


def number(value):
    return value if type(value) is float else whole(value)


def dtype(value):
    need(type(value) is str and value in DTYPES, f"{show(value)} is not a dtype")
    return DTYPES[value]


def products(value):
    proper = type(value) is str and re.fullmatch(r"[a-z]{0,20},[a-z]{0,20}->[a-z]{0,20}", value)
    need(proper, f"{show(value)} is not an einsum of two arrays")
    return value


def show(value):
    text = repr(value) if type(value) in (int, float, str, bool) else type(value).__name__
    return text if len(text) <= 60 else text[:60] + "..."


SPECIAL = {  # the function, the least and the largest number of arrays, the options and their checks
    "where": (np.where, 3, 3, {}),
    "astype": (lambda x, dtype: np.asarray(x).astype(dtype), 1, 1, {"dtype": dtype}),
    "reshape": (
        lambda x, shape: np.reshape(x, shape),
        1,
        1,
        {"shape": lambda v: sequence(v, size)},
    ),
    "broadcast_to": (np.broadcast_to, 1, 1, {"shape": lambda v: sequence(v, size)}),
    "transpose": (np.transpose, 1, 1, {"axes": lambda v: sequence(v, whole)}),
    "concatenate": (lambda *x, axis: np.concatenate(x, axis), 1, 10**6, {"axis": whole}),
    "slice": (cut, 1, 1, {"at": lambda v: sequence(v, limits)}),
    "piece": (piece, 2, 64, {"sizes": lambda v: sequence(v, size)}),
    "pad": (pad, 1, 1, {"width": lambda v: sequence(v, pair), "value": number}),
    "flip": (lambda x, axis: np.flip(x, axis), 1, 1, {"axis": whole}),
    "einsum": (lambda a, b, spec: np.einsum(spec, a, b, optimize=True), 2, 2, {"spec": products}),
    "sum": (lambda x, axis: np.sum(x, axis), 1, 1, {"axis": whole}),
    "max": (lambda x, axis: np.max(x, axis), 1, 1, {"axis": whole}),
    "min": (lambda x, axis: np.min(x, axis), 1, 1, {"axis": whole}),
    "prod": (lambda x, axis: np.prod(x, axis), 1, 1, {"axis": whole}),
    "argmax": (lambda x, axis: np.argmax(x, axis), 1, 1, {"axis": whole}),
}
KINDS = {
    **{kind: (function, 1, 1, {}) for kind, function in UNARY.items()},
    **{kind: (function, 2, 2, {}) for kind, function in BINARY.items()},
    **SPECIAL,
}


def fields(value, wanted, what):
    """The entries of an object, whose keys must be exactly `wanted`."""
    need(type(value) is dict and value.keys() == set(wanted), f"{what} must have {sorted(wanted)}")
    return [value[key] for key in wanted]


def checked(items, known, depth=0):
    """The items with functions in place of names. `known` are the names of the values so far."""
    need(depth <= DEEPEST, "its loops are nested too deeply")
    return [one(entry, known, depth) for entry in sequence(items, lambda entry: entry)]


def one(entry, known, depth):
    need(type(entry) is list and len(entry) == 4, f"{show(entry)} is not an operation")
    kind, inputs, options, out = entry
    inputs = used(inputs, known)
    if kind == "loop":
        return loop(inputs, options, sequence(out, name), known, depth)
    need(type(kind) is str and kind in KINDS, f"there is no operation {show(kind)}")
    function, least, most, wanted = KINDS[kind]
    need(least <= len(inputs) <= most, f"{kind} does not take {len(inputs)} arrays")
    values = fields(options, wanted, f"the options of {kind}")
    known.add(name(out))
    read = {key: check(value) for (key, check), value in zip(wanted.items(), values)}
    return kind, function, inputs, read, out


def loop(inputs, options, outs, known, depth):
    wanted = ("counter", "length", "carried", "body", "nexts", "slices")
    counter, length, carried, body, nexts, slices = fields(options, wanted, "the options of a loop")
    need(whole(length, 0) <= MOST_ROUNDS, f"a loop of {length} iterations is too long")
    carried, inner = sequence(carried, name), {*known, name(counter)}
    inner.update(carried)
    body = checked(body, inner, depth + 1)
    nexts, slices = used(nexts, inner), used(slices, inner)
    fits = len(inputs) == len(carried) == len(nexts) and len(outs) == len(nexts) + len(slices)
    need(fits and (length or not slices), "the values of a loop do not match")
    known.update(outs)
    read = dict(
        counter=counter, length=length, carried=carried, body=body, nexts=nexts, slices=slices
    )
    return "loop", None, inputs, read, outs


def used(names, known):
    for entry in sequence(names, name):
        need(entry in known, f"{show(entry)} is used before it is defined")
    return names


def run(items, values, batch):
    for kind, function, inputs, options, out in items:
        arrays = [values[entry] for entry in inputs]
        if kind == "loop":
            stacks = [[] for _ in options["slices"]]
            for k in range(options["length"]):
                values.update({options["counter"]: k, **dict(zip(options["carried"], arrays))})
                run(options["body"], values, batch)
                arrays = [values[entry] for entry in options["nexts"]]
                for stack, entry in zip(stacks, options["slices"]):
                    stack.append(values[entry])
            arrays += [apply("stack", lambda *x: np.stack(x), stack, {}) for stack in stacks]
            values.update(zip(out, arrays))
            continue
        sizes = {
            key: tuple(factor * batch + offset for factor, offset in options[key])
            for key in ("shape", "sizes")
            if key in options
        }
        values[out] = apply(kind, function, arrays, {**options, **sizes})


def apply(kind, function, arrays, options):
    try:
        return function(*arrays, **options)
    except (ValueError, TypeError, IndexError, ArithmeticError, MemoryError) as error:
        shapes = [np.shape(array) for array in arrays[:5]]
        raise ProgramError(
            f"The operation {kind} cannot be carried out on arrays of shapes {shapes} ({error}). "
            "The input does not have the shape that the network expects, or the file is damaged."
        ) from error


def load(path):
    """Load a network, as a function of one or more arrays with any batch size."""
    try:
        with np.load(path, allow_pickle=False) as file:
            # Uncompressed and without overlaps, arrays take no more space than the file.
            parts = file.zip.infolist()
            claimed = sum(max(part.file_size, part.compress_size) for part in parts)
            need(claimed <= os.path.getsize(path), "its arrays claim more room than the file has")
            arrays = {key: file[key] for key in file.files}
        for key, array in arrays.items():
            need(isinstance(array, np.ndarray), f"{show(key)} is not an array")
        text = arrays.pop("program")
        need(text.shape == () and text.dtype.kind == "U", "its program is not a string")
        program = json.loads(str(text))
    except (ProgramError, FileNotFoundError):
        raise
    except Exception as error:  # of many types: the file may be truncated, damaged or forged
        raise ProgramError(
            f"{path} is not an exported network, or it is damaged ({error})."
        ) from error
    for key, array in arrays.items():
        need(array.dtype.name in DTYPES, f"{show(key)} holds {array.dtype.name}")
    inputs, items, outputs = fields(program, ("inputs", "items", "outputs"), "its program")
    need(type(inputs) is list and inputs, "it has no inputs")
    for entry in inputs:
        need(type(entry) is list and len(entry) == 2, "an input must have a name and a type")
    inputs = [(name(key), dtype(kind)) for key, kind in inputs]  # pyright: ignore
    known = {*arrays, *(key for key, _ in inputs)}
    items = checked(items, known)
    need(used(outputs, known), "it has no outputs")

    def model(*given):
        if len(given) != len(inputs):
            raise ProgramError(f"The network takes {len(inputs)} array(s), got {len(given)}.")
        values = dict(arrays)
        for x, (key, kind) in zip(given, inputs):
            values[key] = np.asarray(x, kind)
            if values[key].ndim == 0:
                raise ProgramError("The network takes a batch of samples, got a single number.")
        with np.errstate(all="ignore"):
            run(items, values, len(values[inputs[0][0]]))
        found = [values[key] for key in outputs]
        return found[0] if len(found) == 1 else tuple(found)

    return model
