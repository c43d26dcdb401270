"""The net of an estimator, with its initial parameters."""

import functools
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PRNGKeyArray

import shootax as sx


class Shape(NamedTuple):
    """The settings that determine the net of an estimator."""

    inputs: int
    outputs: int
    formulation: str
    width: int
    inflation: int
    particles: int
    depth: int
    activation: str

    @property
    def state(self) -> int:
        """The number of scalars of the state: visible and hidden."""
        return self.width * (1 + self.inflation)


def default_width(inputs: int) -> int:
    """Four times the rounded square root of the number of inputs, between 12 and 20. Few widths mean
    few compiled programs."""
    return min(20, max(12, 4 * round(inputs**0.5)))


@functools.lru_cache(maxsize=64)
def template(shape: Shape) -> sx.Net:
    """The net with the shapes of its arrays in place of the arrays."""
    return eqx.filter_eval_shape(functools.partial(_describe, shape), jax.random.key(0))


def _describe(shape: Shape, key: PRNGKeyArray) -> sx.Net:
    field = sx.UpDown(shape.width, shape.inflation, activation=shape.activation)
    return sx.Net(
        field,
        sx.formulation(shape.formulation, field, particles=shape.particles, key=key),
        lift=sx.nn.LinearLift(shape.inputs, shape.state, key=key),
        readout=shape.outputs,
        integrator=sx.RK4(steps=shape.depth),
        key=key,
    )


def leaves(net: sx.Net) -> list[np.ndarray]:
    """The parameters, in the order of `template`."""
    return [np.asarray(leaf) for leaf in jax.tree.leaves(net)]


def assembled(shape: Shape, parameters: list[np.ndarray]) -> sx.Net:
    """The net with given parameters."""
    dtype = jnp.result_type(float)
    arrays = [jnp.asarray(leaf, dtype) for leaf in parameters]
    return jax.tree.unflatten(jax.tree.structure(template(shape)), arrays)


def first(shape: Shape, x: np.ndarray, rng: np.random.Generator) -> sx.Net:
    """The net before training: random linear maps, and particles near the states of some samples.

    NumPy draws the random numbers, because it needs no compiled program for each shape.
    """
    bound = shape.inputs**-0.5
    weight = rng.uniform(-bound, bound, (shape.state, shape.inputs))
    bias = rng.uniform(-bound, bound, shape.state)
    bound = shape.width**-0.5
    readout = rng.uniform(-bound, bound, (shape.outputs, shape.width))
    samples = x[rng.integers(len(x), size=shape.particles)]
    q = samples @ weight.T + bias + 0.1 * rng.normal(size=(shape.particles, shape.state))
    known = {
        "lift.weight": weight,
        "lift.bias": bias,
        "readout.weight": readout,
        "readout.bias": np.zeros(shape.outputs),
        "control.ensemble.q": q,
        "control.ensemble.p": 0.1 * rng.normal(size=q.shape),
    }

    def fill(path: Any, leaf: jax.ShapeDtypeStruct) -> np.ndarray:
        name = jax.tree_util.keystr(path, simple=True, separator=".")
        return known[name] if name in known else _free_weights(name, leaf.shape, rng)

    arrays = jax.tree.map_with_path(fill, template(shape))
    return assembled(shape, jax.tree.leaves(arrays))


def _free_weights(name: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Initial values of θ where it is a parameter: matrices are uniform, in a range given by their last
    axis, and biases are zero."""
    if "theta" not in name.rsplit(".", 1)[-1]:
        return np.zeros(shape)
    bound = shape[-1] ** -0.5
    return rng.uniform(-bound, bound, shape)
