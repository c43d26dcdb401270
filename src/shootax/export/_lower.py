"""Convert a traced program to a graph, equation by equation."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from shootax import _jaxpr as core
from shootax.export._builder import Builder
from shootax.export._graph import ELEMENTWISE, Graph, Loop, Shape, Value, dim, without_idle
from shootax.export._primitives import RULES, cut, reshaped, split
from shootax.export._trace import Traced, names


def lower(traced: Traced, *, freeze: bool, unroll: bool) -> Graph:
    """Convert a traced model to a graph.

    **Arguments:**

    - `freeze`: whether weights are constants, so that operations on weights alone are evaluated.
    - `unroll`: whether loops are unrolled.
    """
    builder = Builder(freeze)
    program = traced.jaxpr
    called = _unmistakable(list(traced.weights)) if freeze else list(traced.weights)
    weights = [
        Value(name, data.shape, str(data.dtype), data, weight=True)
        for name, data in zip(called, traced.weights.values(), strict=True)
    ]
    inputs = [
        Value(name, _shape(variable.aval), str(variable.aval.dtype))
        for name, variable in zip(
            names(traced.spec, "x"), program.jaxpr.invars[len(weights) :], strict=True
        )
    ]
    walk = _Walk(unroll)
    outputs = walk.run(builder, program, [*weights, *inputs])
    outputs = [reshaped_copy(builder, value) for value in outputs]
    return Graph(tuple(inputs), without_idle(builder.items, tuple(outputs)), tuple(outputs))


def _unmistakable(names: Sequence[str]) -> list[str]:
    """Rename weights whose names could clash with inputs, outputs, results or parts of a file."""
    taken = re.compile(r"([a-z]\d*|list_.*|program|file|allow_pickle|)([./].*)?|.*/.*", re.DOTALL)
    found: list[str] = []
    for name in names:
        called = f"weights.{name.replace('/', '_')}" if taken.fullmatch(name) else name
        while called in found or (called != name and called in names):
            called += "_"
        found.append(called)
    return found


def reshaped_copy(builder: Builder, value: Value) -> Value:
    """A copy of a value, for an output that would otherwise be an input or a constant."""
    return builder.op("reshape", value, shape=value.shape, dtype=value.dtype)


class _Walk:
    def __init__(self, unroll: bool):
        self.unroll = unroll

    def run(self, builder: Builder, program: Any, arguments: Sequence[Value]) -> list[Value]:
        """Add the operations of a jaxpr, closed or not, and return its results."""
        jaxpr, constants = (
            (program.jaxpr, program.consts)
            if isinstance(program, core.ClosedJaxpr)
            else (program, ())
        )
        known: dict[Any, Value] = {}
        for variable, constant in zip(jaxpr.constvars, constants, strict=True):
            known[variable] = builder.constant(constant)
        known.update(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> Value:
            if isinstance(atom, core.Literal):
                return builder.constant(np.asarray(atom.val, atom.aval.dtype))  # pyright: ignore
            return known[atom]

        for equation in jaxpr.eqns:
            found = self._equation(builder, equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, found, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _equation(self, builder: Builder, equation: Any, inputs: list[Value]) -> list[Value]:
        name, params = equation.primitive.name, equation.params
        if name == "scan":
            return self._scan(builder, params, inputs, equation.outvars)
        if name == "split":
            return split(builder, inputs[0], params["sizes"], params["axis"])
        if name in RULES:
            (out,) = equation.outvars
            made = RULES[name](builder, inputs, params, _shape(out.aval), str(out.aval.dtype))
            return [made]
        inner = [params[key] for key in core.PROGRAMS if key in params]
        if inner and name not in ("while", "cond"):
            skipped = len(inputs) - len(_variables(inner[0]))
            return self.run(builder, inner[0], inputs[skipped:])
        raise ValueError(
            f"The model uses the operation {name!r}, which cannot be exported to this format. "
            + _advice(name)
        )

    def _scan(
        self, builder: Builder, params: dict[str, Any], inputs: list[Value], outs: Sequence[Any]
    ) -> list[Value]:
        fixed, carry = params["num_consts"], params["num_carry"]
        constants, starts = inputs[:fixed], inputs[fixed : fixed + carry]
        series, length = inputs[fixed + carry :], params["length"]
        order = range(length - 1, -1, -1) if params["reverse"] else range(length)
        if self.unroll:
            rounds = []
            for k in order:
                number = builder.constant(np.asarray(k, "int32"))
                now = [_entry(builder, value, number) for value in series]
                out = self.run(builder, params["jaxpr"], [*constants, *starts, *now])
                starts = out[:carry]
                rounds.append(out[carry:])
            rounds = rounds[::-1] if params["reverse"] else rounds
            stacked = [
                _stacked(builder, [each[i] for each in rounds], out)
                for i, out in enumerate(outs[carry:])
            ]
            return [*starts, *stacked]
        if params["reverse"]:
            raise ValueError(
                "A scan with reverse=True cannot be exported to this format. Export to ONNX or "
                "StableHLO."
            )
        inner = Builder(builder.freeze, builder)
        counter = inner.fresh((), "int32", "k")
        inner.counters.add(counter)
        carried = [inner.fresh(value.shape, value.dtype) for value in starts]
        now = [_entry(inner, value, counter) for value in series]
        out = self.run(inner, params["jaxpr"], [*constants, *carried, *now])
        made = [builder.fresh(_shape(out.aval), str(out.aval.dtype)) for out in outs]
        builder.loop(
            Loop(
                counter=counter,
                length=length,
                starts=tuple(starts),
                carried=tuple(carried),
                body=without_idle(inner.items, tuple(out)),
                nexts=tuple(out[:carry]),
                results=tuple(made[:carry]),
                slices=tuple(out[carry:]),
                stacked=tuple(made[carry:]),
            )
        )
        return made


def _variables(program: Any) -> Sequence[Any]:
    return (program.jaxpr if isinstance(program, core.ClosedJaxpr) else program).invars


def _entry(builder: Builder, series: Value, number: Value) -> Value:
    """`series[number]`."""
    counting = series.known and series.data is not None and series.data.ndim == 1
    if counting and np.array_equal(series.data, np.arange(len(series.data))):  # pyright: ignore
        return number if number.known is False else builder.constant(series.data[number.data])  # pyright: ignore
    shape = series.shape[1:]
    if number.known:
        k = int(np.asarray(number.data))
        return reshaped(
            builder, cut(builder, series, [k] + [0] * len(shape), [k + 1, *shape]), shape
        )
    zero = builder.constant(np.zeros((), "int32"))
    one = builder.op(
        "piece",
        series,
        number,
        *[zero] * len(shape),
        shape=(1, *shape),
        dtype=series.dtype,
        sizes=(1, *shape),
    )
    return reshaped(builder, one, shape)


def _stacked(builder: Builder, values: list[Value], like: Any) -> Value:
    shape = _shape(like.aval)
    parts = [reshaped(builder, value, (1, *value.shape)) for value in values]
    return builder.op("concatenate", *parts, shape=shape, dtype=str(like.aval.dtype), axis=0)


def _shape(aval: Any) -> Shape:
    return tuple(dim(size) for size in aval.shape)


def _advice(name: str) -> str:
    if name == "while":
        return (
            "It is a loop without a fixed number of iterations, as in implicit integrators. Bake with "
            "an explicit integrator first, as in bake(net, integrator=RK4(steps=20))."
        )
    kinds = ", ".join(sorted({*RULES} - ELEMENTWISE))
    return (
        f"Write the field, lift or readout with these operations: {kinds}; or export to StableHLO."
    )
