"""Trace a model to a program with named weights and a symbolic batch size."""

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from shootax import Chain, Direct, Net
from shootax.export._whole import Whole, doubles
from shootax.extend import AbstractFixedStep, baked
from shootax.nn import AbstractLift


class Traced(NamedTuple):
    """A function of weights and a batch `x`, its weights by name, and its program.

    `spec` has the shapes and dtypes of `x`, with the symbolic batch size `b`. `jaxpr` takes the weights
    in the order of `weights`, then the arrays of `x`.
    """

    function: Any
    weights: dict[str, np.ndarray]
    tree: PyTree
    spec: PyTree[jax.ShapeDtypeStruct]
    jaxpr: Any
    outputs: PyTree[jax.ShapeDtypeStruct]
    wide: bool = False
    """Whether the program is in double precision outside the net, whose precision may differ."""


def trace(model: Any, input: Any = None) -> Traced:
    """Bake a model, if necessary, and trace it.

    **Arguments:** `input`, the shape of one sample, or a batch of samples. You can omit it if the
    model starts with a net.
    """
    if isinstance(model, Whole):
        return _trace_whole(model)
    plain = _forward_only(baked(model))
    arrays, rest = eqx.partition(plain, eqx.is_inexact_array)
    dtype = jnp.result_type(*(jax.tree.leaves(arrays) or [float]))
    (batch,) = jax.export.symbolic_shape("b")
    spec = jax.tree.map(
        lambda shape: jax.ShapeDtypeStruct((batch, *shape), dtype),
        _one_sample(model) if input is None else _shapes(input),
        is_leaf=_is_shape,
    )

    def function(arrays: PyTree, x: PyTree) -> PyTree:
        return eqx.combine(arrays, rest)(x)

    traced = jax.jit(function).trace(arrays, spec)
    named = jax.tree_util.tree_leaves_with_path(arrays)
    weights = {name_of(path): np.asarray(leaf) for path, leaf in named}
    return Traced(function, weights, arrays, spec, traced.jaxpr, traced.out_info)


def _trace_whole(whole: Whole) -> Traced:
    plain = _forward_only(baked(whole.net))
    arrays, rest = eqx.partition(plain, eqx.is_inexact_array)
    dtype = jnp.result_type(*jax.tree.leaves(arrays))
    (batch,) = jax.export.symbolic_shape("b")

    def function(arrays: PyTree, x: PyTree) -> PyTree:
        return whole.answer(eqx.combine(arrays, rest), x, dtype)

    with doubles():
        spec = jax.tree.map(
            lambda shape: jax.ShapeDtypeStruct((batch, *shape), np.float64),
            whole.one,
            is_leaf=_is_shape,
        )
        traced = jax.jit(function).trace(arrays, spec)
    named = jax.tree_util.tree_leaves_with_path(arrays)
    weights = {name_of(path): np.asarray(leaf) for path, leaf in named}
    return Traced(function, weights, arrays, spec, traced.jaxpr, traced.out_info, True)


def name_of(path: Any) -> str:
    """The name of a path in a PyTree, as in `control.theta.theta1`."""
    return jax.tree_util.keystr(path, simple=True, separator=".")


def names(tree: PyTree, first: str) -> list[str]:
    """A name for every array of an input or output."""
    paths = [name_of(path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
    return [f"{first}.{path}" if path else first for path in paths]


def _is_net(leaf: Any) -> bool:
    return isinstance(leaf, Net)


def _forward_only(model: Any) -> Any:
    """The model with integrators that store nothing for a backward pass."""

    def one(leaf: Any) -> Any:
        if _is_net(leaf) and isinstance(leaf.integrator, AbstractFixedStep):
            return eqx.tree_at(
                lambda net: net.integrator.gradient,
                leaf,
                Direct(),
                is_leaf=lambda part: part is leaf.integrator.gradient,
            )
        return leaf

    return jax.tree.map(one, model, is_leaf=_is_net)


def _one_sample(model: Any) -> PyTree:
    """The shapes of one sample, from the lift of the first net."""
    if isinstance(model, Chain):
        return _one_sample(model.nets[0])
    if isinstance(model, Net) and isinstance(model.lift, AbstractLift):
        return _shapes(model.lift.input_shape(model.field))
    raise ValueError(
        f"The input shape of {type(model).__name__} is unknown. Give the shape of one sample, as in "
        "export.write(model, path, to='onnx', input=(3, 28, 28))."
    )


def _shapes(input: Any) -> PyTree:
    """The shapes of one sample, from shapes or from arrays with a leading batch axis."""
    if isinstance(input, int):
        return (input,)
    if _is_shape(input):
        return tuple(input)

    def one(leaf: Any) -> tuple[int, ...]:
        if isinstance(leaf, jax.ShapeDtypeStruct):
            return tuple(leaf.shape)
        if _is_shape(leaf):
            return tuple(leaf)
        return tuple(np.shape(leaf)[1:])

    return jax.tree.map(one, input, is_leaf=_is_shape)


def _is_shape(leaf: Any) -> bool:
    return isinstance(leaf, tuple) and all(isinstance(size, int) for size in leaf)
