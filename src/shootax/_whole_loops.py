"""Compile small loops as single functions."""

import functools
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
from jax.experimental.xla_metadata import set_xla_metadata
from jax.interpreters import mlir

from shootax._blocked_products import in_blocks, multiplications
from shootax._jaxpr import CALLS, ClosedJaxpr, Jaxpr, JaxprEqn, Primitive, jaxpr_as_fun

LARGEST = 6_000_000
"""A loop is small if one iteration writes at most this many bytes."""

LARGEST_PRODUCT = 500_000
"""A small loop has no products with more multiplications than this."""

MOST_PRODUCTS = 200
"""A small loop has at most this many products and sums, because the time to compile a function grows
faster than its length."""

_LOOPS = {"scan", "while"}

_RUNNING = {*_LOOPS, *CALLS, "checkpoint", "cond", "remat2"}
"""Operations that only run programs."""

_NAMES = """
    abs acos acosh add add_any and argmax argmin asin asinh atan atan2 atanh bitcast_convert_type
    broadcast_in_dim cbrt ceil clamp concatenate convert_element_type copy copy_p cos cosh cumsum div
    dot_general dynamic_slice dynamic_update_slice eq erf erfc exp exp2 expand_dims expm1 floor gather ge
    gt integer_pow iota is_finite
    le log log1p logistic lt max min mul ne neg not optimization_barrier or pad pow random_bits
    random_fold_in random_unwrap random_wrap reduce_and reduce_max reduce_min reduce_or reduce_prod
    reduce_sum rem reshape rev round rsqrt select_n shift_left shift_right_arithmetic
    shift_right_logical sign sin sinh slice split sqrt square squeeze stack stop_gradient sub tan tanh
    threefry2x32 transpose unstack xor
"""
_PLAIN = frozenset(_NAMES.split())
"""Operations that become plain code. A single function can call no library and no other device, so
sorting, scattering, linear algebra and sums over devices are not among them."""


def with_whole_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, whose small loops XLA compiles as single functions on the CPU.

    XLA otherwise calls the operations of a loop one by one, which takes longer than most operations of a
    small net. Use it where a program is compiled, with compiler options that keep operations out of other
    libraries: marked loops cannot contain these.
    """

    @functools.wraps(function)
    def run(*args: Any) -> Any:
        if _one_by_one():
            return function(*args)
        closed, dynamic, static = eqx.filter_make_jaxpr(function)(*args)
        marked = ClosedJaxpr(_marked(closed.jaxpr), closed.consts)
        arrays = jax.tree.leaves(eqx.filter(args, eqx.is_array))
        leaves = jaxpr_as_fun(marked)(*arrays)
        return eqx.combine(jax.tree.unflatten(jax.tree.structure(dynamic), leaves), static)

    return run


def _one_by_one() -> bool:
    """Whether JAX runs the operations of programs one by one, as it does to find the origin of a NaN."""
    config: Any = jax.config
    return config.jax_disable_jit or config.jax_debug_nans or config.jax_debug_infs


def _marked(program: Jaxpr, whole: bool = False) -> Jaxpr:
    """A program whose small loops are calls of functions of their own, or, if it belongs to such a
    function (`whole`), whose products are in blocks."""
    return program.replace(eqns=[_marked_operation(eqn, whole) for eqn in program.eqns])


def _marked_operation(eqn: JaxprEqn, whole: bool) -> JaxprEqn:
    name = eqn.primitive.name
    if whole and name == "dot_general":
        return in_blocks(eqn)
    if not whole and name in _LOOPS and _small(eqn):
        return _as_call(eqn)
    if not _programs(eqn):
        return eqn
    inside = {key: _marked_programs(value, whole) for key, value in eqn.params.items()}
    return eqn.replace(params=inside)


def _marked_programs(value: Any, whole: bool) -> Any:
    if isinstance(value, ClosedJaxpr):
        return ClosedJaxpr(_marked(value.jaxpr, whole), value.consts)
    if isinstance(value, Jaxpr):
        return _marked(value, whole)
    if type(value) is tuple and any(isinstance(part, ClosedJaxpr) for part in value):
        return tuple(_marked_programs(part, whole) for part in value)
    return value


def _programs(eqn: JaxprEqn) -> list[Jaxpr]:
    """The programs that an operation runs."""
    found = []
    for value in eqn.params.values():
        for part in value if isinstance(value, tuple) else (value,):
            if isinstance(part, ClosedJaxpr | Jaxpr):
                found.append(getattr(part, "jaxpr", part))
    return found


def _small(eqn: JaxprEqn) -> bool:
    return _plain(eqn) and _written(eqn) <= LARGEST and _products(eqn) <= MOST_PRODUCTS


def _products(eqn: JaxprEqn) -> int:
    """The number of products and sums in an operation, with all that it runs."""
    inside = _programs(eqn)
    if inside:
        return sum(_products(one) for program in inside for one in program.eqns)
    name = eqn.primitive.name
    return name == "dot_general" or name.startswith("reduce_")


def _plain(eqn: JaxprEqn) -> bool:
    """Whether an operation, with all that it runs, can be compiled as plain code."""
    name, inside = eqn.primitive.name, _programs(eqn)
    if name == "dot_general" and multiplications(eqn) > LARGEST_PRODUCT:
        return False
    if not inside:
        return name in _PLAIN
    known = name in _RUNNING and not eqn.effects
    return known and all(_plain(one) for program in inside for one in program.eqns)


def _written(eqn: JaxprEqn) -> float:
    """The bytes that one iteration of a loop writes."""
    return sum(_bytes(one) for program in _programs(eqn) for one in program.eqns)


def _bytes(eqn: JaxprEqn) -> float:
    inside = _programs(eqn)
    if inside:
        return sum(_bytes(one) for program in inside for one in program.eqns)
    return sum(_size(var.aval) for var in eqn.outvars)


def _size(aval: Any) -> float:
    return math.prod(aval.shape) * getattr(aval.dtype, "itemsize", 8)


def _as_call(eqn: JaxprEqn) -> JaxprEqn:
    """The call of a function that consists of one operation."""

    def alone(*args: Any) -> Any:
        return eqn.primitive.bind(*args, **eqn.params)

    avals = [var.aval for var in eqn.invars]
    program = jax.make_jaxpr(alone)(*avals)
    (call,) = jax.make_jaxpr(lambda *args: _whole.bind(*args, program=program))(*avals).eqns
    rest = call.outvars[len(eqn.outvars) :]
    return call.replace(invars=eqn.invars, outvars=[*eqn.outvars, *rest])


_whole = Primitive("whole_loop")
"""Run `program` as a single function, and return its results and its arguments.

XLA may find that a loop does not need some argument, and it ends the process if such a function has an
argument without any use. A result is a use, and no result of this operation is ever removed.
"""

_whole.multiple_results = True


@_whole.def_abstract_eval
def _(*avals: Any, program: ClosedJaxpr) -> list[Any]:
    return [*program.out_avals, *avals]


@_whole.def_impl
def _usual(*args: Any, program: ClosedJaxpr) -> list[Any]:
    """The same results, compiled as usual."""
    return [*jaxpr_as_fun(program)(*args), *args]


def _alone(*args: Any, program: ClosedJaxpr) -> list[Any]:
    blocked = ClosedJaxpr(_marked(program.jaxpr, whole=True), program.consts)

    def whole(*args: Any) -> list[Any]:
        with set_xla_metadata(inlineable="true", xla_cpu_small_call="false"):
            # Without a barrier, JAX would not let a function return its arguments.
            return [*jaxpr_as_fun(blocked)(*args), *jax.lax.optimization_barrier(args)]

    # XLA would copy constants into the function, which then has no use of these arguments.
    args = jax.lax.optimization_barrier(args)
    # XLA neither inlines this call nor runs its operations one by one.
    with set_xla_metadata(inlineable="false", xla_cpu_small_call="true"):
        return jax.jit(whole)(*args)


def _lowered(ctx: mlir.LoweringRuleContext, *args: Any, program: ClosedJaxpr) -> Any:
    # Between several devices, XLA puts sums over them into the loops. Arrays on them may be constants
    # of the program, so only here their number is known.
    devices = getattr(ctx.module_context.axis_context, "num_devices", None)
    rule = mlir.lower_fun(_alone if devices == 1 else _usual, multiple_results=True)
    return rule(ctx, *args, program=program)


mlir.register_lowering(_whole, _lowered)
