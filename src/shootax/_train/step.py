"""One training step as one small compiled program, for loops of your own."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, PyTree

from shootax import _checks as checks
from shootax._train.compiler_options import compiler_options


class Adam(NamedTuple):
    """Parameters as one vector, and Adam's two moments and count."""

    parameters: Float[Array, " parameters"]
    mean: Float[Array, " parameters"]
    square: Float[Array, " parameters"]
    count: Float[Array, ""]


class TrainingStep:
    """Value, gradient and Adam for any model and objective.

    All parameters are one vector, so that Adam is a handful of operations however many arrays the
    model has: with small models the time goes into the number of operations, not into arithmetic.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        def objective(net, x, y):
            return 100 * jnp.mean((net(x) - y) ** 2) + sx.penalty(net)

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        step = sx.TrainingStep(net, objective, learning_rate=0.01)
        x = jnp.linspace(-1, 1, 20)[:, None]
        state = step.init()
        for _ in range(3):
            state, loss = step(state, x, x**2)
        net = step.model(state)
        ```
    """

    def __init__(
        self,
        model: Any,
        objective: Callable[..., Float[Array, ""]],
        *,
        learning_rate: float = 0.01,
        b1: float = 0.9,
        b2: float = 0.999,
        eps: float = 1e-8,
    ):
        """**Arguments:**

        - `model`: any Equinox module; its arrays of floating-point numbers are trained.
        - `objective`: `objective(model, *batch)`, what is to be made small.
        - `learning_rate`, `b1`, `b2`, `eps`: of Adam.
        """
        parameters, self._static = eqx.partition(model, eqx.is_inexact_array)
        self._start, self._unravel = ravel_pytree(parameters)
        if self._start.size == 0:
            raise ValueError(f"{type(model).__name__} has no parameters to train.")
        self._objective = objective
        self._numbers = (checks.positive_number(learning_rate, "learning_rate"), b1, b2, eps)
        options = compiler_options(self._start.size)
        self.compiled = jax.jit(self.pure, donate_argnums=0, compiler_options=options)

    def init(self) -> Adam:
        """The state before the first step."""
        zeros = jnp.zeros_like(self._start)
        return Adam(jnp.copy(self._start), zeros, jnp.copy(zeros), jnp.zeros((), zeros.dtype))

    def model(self, state: Adam) -> Any:
        """The model with the parameters of a state."""
        return eqx.combine(self._unravel(state.parameters), self._static)

    def __call__(self, state: Adam, *batch: PyTree[Array]) -> tuple[Adam, Float[Array, ""]]:
        """The state after a step, and the objective before it. The given state is used up."""
        return self.compiled(state, *batch)

    def pure(self, state: Adam, *batch: PyTree[Array]) -> tuple[Adam, Float[Array, ""]]:
        """The step, not compiled: to be mapped over seeds, or to be part of a larger program."""
        rate, b1, b2, eps = self._numbers
        parameters, mean, square, count = state

        def value(vector: Array) -> Array:
            return self._objective(eqx.combine(self._unravel(vector), self._static), *batch)

        loss, gradient = jax.value_and_grad(value)(parameters)
        count = count + 1
        mean = b1 * mean + (1 - b1) * gradient
        square = b2 * square + (1 - b2) * gradient**2
        step = (mean / (1 - b1**count)) / (jnp.sqrt(square / (1 - b2**count)) + eps)
        return Adam(parameters - rate * step, mean, square, count), loss
