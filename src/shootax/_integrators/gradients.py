"""Gradient modes: how a training gradient goes back through the steps of a fixed grid.

Each mode runs `body(system, y, k) -> (y_next, output)` for `k = 0, ..., steps - 1` and differs only
in what it stores for the backward pass.
"""

import abc
import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from shootax import _checks as checks
from shootax._integrators.fixed_point import fixed_point, written_out
from shootax._systems import AbstractSystem, State

Body = Callable[[AbstractSystem, State, Any], tuple[State, PyTree]]


class AbstractGradient(eqx.Module):
    """A gradient mode: how the steps of a fixed grid run, and what they store for the backward pass.

    Your own mode needs only the method `run`. You can pass it to every fixed-step integrator.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx


        class EveryStep(sx.extend.AbstractGradient):
            def run(self, body, undo, system, y, steps):
                one = jax.checkpoint(lambda y, k: body(system, y, k))
                return jax.lax.scan(one, y, jnp.arange(steps))


        rk4 = sx.RK4(steps=5, gradient=EveryStep())
        net = sx.Net(sx.UpDown(dim=1), particles=3, integrator=rk4, key=jax.random.key(0))
        ```
    """

    @abc.abstractmethod
    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        """Run `y, output = body(system, y, k)` for `k = 0, ..., steps - 1`.

        **Arguments:**

        - `body`: one step. `k` is a JAX integer array.
        - `undo`: the step back from `k + 1` to `k` by the same method, called like `body`: its inverse
            up to the error of the method.
        - `system`: the right-hand side; the gradient reaches the parameters through it.
        - `y`: the state at the start.
        - `steps`: the number of steps.

        **Returns:** the last state, and the outputs stacked along a new leading axis.
        """


class Direct(AbstractGradient):
    """Store every step: the fastest mode, with memory proportional to the number of steps.

    !!! example

        ```python
        import shootax as sx

        integrator = sx.RK4(steps=10, gradient=sx.Direct())
        ```
    """

    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        return jax.lax.scan(lambda y, k: body(system, y, k), y, jnp.arange(steps))


class Checkpointed(AbstractGradient):
    """Store every $\\sqrt{steps}$-th state, and recompute the steps between in the backward pass.

    The gradient is that of [`shootax.Direct`][] to rounding.

    !!! example

        ```python
        import shootax as sx

        integrator = sx.RK4(steps=100, gradient=sx.Checkpointed())
        ```
    """

    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        length = max(1, math.isqrt(steps))
        segments = steps // length

        # Within a segment each step stores only its start, not its stages.
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
    """Store only the final state, and recompute the earlier ones by running the flow backwards.

    Each step back solves for the state from which the step forward leads to the current one, so the
    gradient is that of the discrete model, up to rounding that grows with the contraction of the flow.

    !!! example

        ```python
        import shootax as sx

        integrator = sx.RK4(steps=100, gradient=sx.Reversed())
        ```
    """

    max_iterations: int = eqx.field(static=True, default=50)

    def __check_init__(self):
        checks.positive_integer(self.max_iterations, "max_iterations")

    def run(
        self, body: Body, undo: Body, system: AbstractSystem, y: State, steps: int
    ) -> tuple[State, PyTree]:
        return _run_reversed((system, y), body, undo, steps, self.max_iterations)


Reversed.__init__.__doc__ = """**Arguments:**

- `max_iterations`: the largest number of iterations to invert one step. A step that cannot be inverted,
    because it is too large for the field, makes the gradient NaN.
"""


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
