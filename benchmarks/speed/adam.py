"""One training step as users of JAX write it: value, gradient and Optax's Adam, compiled together."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import optax
from jaxtyping import Array, PyTree

from benchmarks.speed.cases import LEARNING_RATE

Carry = tuple[PyTree, PyTree]


def optax_step(
    model: PyTree, objective: Callable[[Any, Array, Array], Array]
) -> tuple[Callable[[Carry, Array, Array], tuple[Carry, Array]], Carry]:
    """The step, not yet compiled, and its initial carry."""
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    adam = optax.adam(LEARNING_RATE)

    def step(carry: Carry, x: Array, y: Array) -> tuple[Carry, Array]:
        parameters, state = carry

        def value(parameters: PyTree) -> Array:
            return objective(eqx.combine(parameters, static), x, y)

        loss, gradient = jax.value_and_grad(value)(parameters)
        updates, state = adam.update(gradient, state)
        return (optax.apply_updates(parameters, updates), state), loss

    return step, (parameters, adam.init(parameters))


class Runner:
    """Each call runs a compiled training step on the same batch and returns the loss before the step."""

    def __init__(self, model: PyTree, objective: Callable, x: Array, y: Array):
        step, carry = optax_step(model, objective)
        self.step = jax.jit(step, donate_argnums=0)
        self.carry = jax.tree.map(jax.numpy.copy, carry)
        self.batch = (jax.numpy.asarray(x), jax.numpy.asarray(y))

    def __call__(self) -> float:
        self.carry, loss = self.step(self.carry, *self.batch)
        return float(loss)
