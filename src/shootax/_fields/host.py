"""Run a traced program on the host, with NumPy, for checks that should not compile anything.

JAX runs the operations that are not listed here, one by one.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shootax import _jaxpr as core


def run(program: core.ClosedJaxpr, given: Sequence[Any]) -> list[np.ndarray]:
    """Compute the outputs of a program. Raise `TypeError` if it contains traced arrays."""
    with np.errstate(all="ignore"):
        return _run(program.jaxpr, program.consts, given)


def _run(program: core.Jaxpr, constants: Sequence[Any], given: Sequence[Any]) -> list[np.ndarray]:
    known: dict[Any, Any] = {}
    known.update(zip(program.constvars, map(_on_host, constants), strict=True))
    known.update(zip(program.invars, map(_on_host, given), strict=True))

    def value(atom: Any) -> Any:
        return np.asarray(atom.val) if isinstance(atom, core.Literal) else known[atom]

    for equation in program.eqns:
        out = step(equation, [value(atom) for atom in equation.invars])
        known.update(zip(equation.outvars, out, strict=True))
    return [value(atom) for atom in program.outvars]


def _on_host(value: Any) -> Any:
    dtype = getattr(value, "dtype", None)
    if dtype is not None and jnp.issubdtype(dtype, jax.dtypes.extended):
        return value
    return np.asarray(value)


def step(equation: core.JaxprEqn, given: list[Any]) -> list[Any]:
    """Compute the outputs of one operation."""
    name, params = equation.primitive.name, equation.params
    if name in core.CALLS and core.CALLS[name] in params:
        inner = params[core.CALLS[name]]
        closed = isinstance(inner, core.ClosedJaxpr)
        return _run(inner.jaxpr if closed else inner, inner.consts if closed else (), given)
    kinds = {getattr(value, "dtype", np.dtype("O")).kind for value in given}
    if name == "split":
        edges = np.cumsum(params["sizes"])[:-1]
        return np.split(given[0], edges, params["axis"])
    if name in PLAIN and (kinds <= {"f", "b"} or name not in FLOATING):
        return [_like(equation, PLAIN[name](*given))]
    if name in SHAPED and not _special(name, params):
        return [_like(equation, SHAPED[name](params, *given))]
    with jax.ensure_compile_time_eval():
        out = equation.primitive.bind(*given, **params)
    return [_on_host(leaf) for leaf in (out if equation.primitive.multiple_results else [out])]


def _like(equation: core.JaxprEqn, value: Any) -> np.ndarray:
    """Convert a value to the precision of the output of an operation."""
    target: Any = equation.outvars[0].aval
    return np.asarray(value).astype(target.dtype, copy=False)


def _special(name: str, params: dict[str, Any]) -> bool:
    """Whether an operation is used in a way that is not listed here."""
    if name == "pad":
        return any(low < 0 or high < 0 or gap for low, high, gap in params["padding_config"])
    return name == "reshape" and params["dimensions"] is not None


PLAIN: dict[str, Callable[..., Any]] = {
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide,
    "neg": np.negative, "abs": np.abs, "max": np.maximum, "min": np.minimum, "copy": np.asarray,
    "gt": np.greater, "lt": np.less, "ge": np.greater_equal, "le": np.less_equal, "eq": np.equal,
    "ne": np.not_equal, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh,
    "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "logistic": lambda s: 1 / (1 + np.exp(-s)), "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda s: 1 / np.sqrt(s),
    "cbrt": np.cbrt, "square": np.square, "erf": np.vectorize(math.erf, otypes=[float]),
    "erfc": np.vectorize(math.erfc, otypes=[float]), "sign": np.sign, "floor": np.floor,
    "ceil": np.ceil, "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor,
    "not": np.bitwise_not, "is_finite": np.isfinite, "pow": np.power,
}  # fmt: skip
FLOATING = frozenset({"div", "neg", "abs", "sign", "not", "pow"})
"""These are listed for floating-point numbers and truth values only."""


def _broadcast(params: dict[str, Any], value: np.ndarray) -> np.ndarray:
    lengths = [1] * len(params["shape"])
    for axis, length in zip(params["broadcast_dimensions"], value.shape, strict=True):
        lengths[axis] = length
    return np.broadcast_to(value.reshape(lengths), params["shape"])


def _slice(params: dict[str, Any], value: np.ndarray) -> np.ndarray:
    strides = params["strides"] or [1] * value.ndim
    return value[tuple(map(slice, params["start_indices"], params["limit_indices"], strides))]


def _product(params: dict[str, Any], left: np.ndarray, right: np.ndarray) -> np.ndarray:
    (contracted, batched) = params["dimension_numbers"]
    names = list(range(left.ndim)), list(range(left.ndim, left.ndim + right.ndim))
    for pairs in (contracted, batched):
        for a, b in zip(*pairs, strict=True):
            names[1][b] = names[0][a]
    common = [names[0][a] for a in batched[0]]
    free = [
        [names[side][axis] for axis in range(operand.ndim)
         if axis not in contracted[side] and axis not in batched[side]]
        for side, operand in enumerate((left, right))
    ]  # fmt: skip
    return np.einsum(left, names[0], right, names[1], [*common, *free[0], *free[1]])


SHAPED: dict[str, Callable[..., Any]] = {
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda params, *values: np.concatenate(values, params["dimension"]),
    "convert_element_type": lambda params, value: value,
    "dot_general": _product,
    "integer_pow": lambda params, value: np.power(value, params["y"]),
    "pad": lambda params, value, filling: np.pad(
        value, [(low, high) for low, high, _ in params["padding_config"]], constant_values=filling
    ),
    "reduce_max": lambda params, value: np.max(value, axis=tuple(params["axes"])),
    "reduce_sum": lambda params, value: np.sum(value, axis=tuple(params["axes"])),
    "reshape": lambda params, value: value.reshape(params["new_sizes"]),
    "rev": lambda params, value: np.flip(value, params["dimensions"]),
    "select_n": lambda params, which, *cases: np.choose(which.astype(int), cases),
    "slice": _slice,
    "squeeze": lambda params, value: np.squeeze(value, tuple(params["dimensions"])),
    "transpose": lambda params, value: np.transpose(value, params["permutation"]),
}
