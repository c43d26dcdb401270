"""How a training gradient travels back through the steps of a fixed grid.

Each mode runs `body(system, y, k) -> (y_next, output)` for `k = 0, ..., steps - 1` and differs only
in what it keeps for the way back.
"""

import abc
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from shootax._integrators.fixed_point import fixed_point, written_out
from shootax._systems import AbstractSystem, State

Body = Callable[[AbstractSystem, State, Any], tuple[State, PyTree]]


class AbstractGradient(eqx.Module):
    """A gradient mode."""

    @abc.abstractmethod
    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        """The last state and the stacked outputs. `undo` takes a step back, approximately."""


class Direct(AbstractGradient):
    """Keep every step: the fastest way, with memory in proportion to the number of steps."""

    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        return jax.lax.scan(lambda y, k: body(system, y, k), y, jnp.arange(steps))


class Checkpointed(AbstractGradient):
    """Keep every $\\sqrt{steps}$-th state and run the steps between once more on the way back."""

    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        length = max(1, math.isqrt(steps))
        segments = steps // length

        # Within a segment each step keeps its start alone, not its stages.
        one = jax.checkpoint(lambda y, k: body(system, y, k))

        @jax.checkpoint
        def segment(y: State, ks: PyTree) -> tuple[State, PyTree]:
            return jax.lax.scan(one, y, ks)

        ks = jnp.arange(segments * length).reshape(segments, length)
        y, outputs = jax.lax.scan(segment, y, ks)
        outputs = jax.tree.map(lambda a: a.reshape(-1, *a.shape[2:]), outputs)
        if segments * length < steps:
            y, rest = segment(y, jnp.arange(segments * length, steps))
            outputs = jax.tree.map(lambda a, b: jnp.concatenate([a, b]), outputs, rest)
        return y, outputs


class Reversed(AbstractGradient):
    """Keep the end alone and recover the earlier states by running the flow back.

    Each step back solves for the state whose step forward is the one at hand, so the gradient is
    that of the discrete model, up to rounding that grows with the contraction of the flow.

    **Arguments:**

    - `max_iterations`: limit of the iterations to invert one step. A step that cannot be inverted
        (too large for the field) makes the gradient NaN.
    """

    max_iterations: int = eqx.field(static=True, default=50)

    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        return _run_reversed((system, y), body, undo, steps, self.max_iterations)


@eqx.filter_custom_vjp
def _run_reversed(start, body, undo, steps, max_iterations):
    system, y = start
    return jax.lax.scan(lambda y, k: body(system, y, k), y, jnp.arange(steps))


@_run_reversed.def_fwd
def _forward(perturbed, start, body, undo, steps, max_iterations):
    out = _run_reversed(start, body, undo, steps, max_iterations)
    return out, out[0]


@_run_reversed.def_bwd
def _backward(end, cotangents, perturbed, start, body, undo, steps, max_iterations):
    system, _ = start
    arrays, rest = eqx.partition(system, eqx.is_inexact_array)

    def invert(target: State, k: Any) -> State:
        def correct(args: Any, y: State) -> State:
            system, target, k = args
            ahead = body(system, y, k)[0]
            return jax.tree.map(lambda a, b, c: a - (b - c), target, ahead, y)

        guess = undo(system, target, k)[0]
        return fixed_point(correct, (system, target, k), guess, max_iterations)

    def back(carry, xs):
        later, y_bar, arrays_bar = carry
        k, output_bar = xs
        y = invert(later, k)
        outputs, pull = jax.vjp(lambda a, y: body(eqx.combine(a, rest), y, k), arrays, y)
        bar = (y_bar, written_out(outputs[1], output_bar))
        more, y_bar = pull(bar)
        return (y, y_bar, jax.tree.map(jnp.add, arrays_bar, more)), None

    end_bar, outputs_bar = cotangents
    end_bar = written_out(end, end_bar)
    zero = jax.tree.map(jnp.zeros_like, arrays)
    (_, y_bar, system_bar), _ = jax.lax.scan(
        back, (end, end_bar, zero), (jnp.arange(steps), outputs_bar), reverse=True
    )
    return system_bar, y_bar
