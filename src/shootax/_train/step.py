"""One training step as one small compiled program, for your own training loops."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PyTree

from shootax._disk_cache import keeping_programs
from shootax._train.compiler_options import compiled, compiler_options
from shootax._train.optimizer import Optimizer, as_optimizer
from shootax._train.schedules import Constant
from shootax._train.update import Moving, advance, begin, step_sizes, take_apart, translate


class StepState(NamedTuple):
    """The state of a training between steps: parameters, optimiser state and moving average, and the
    number of steps."""

    moving: Moving
    count: Array


class TrainingStep:
    """The training step of [`shootax.fit`][] for any model and objective.

    All parameters are concatenated to one vector, so that Adam needs only a few operations, however
    many arrays the model has. For small models, the number of operations takes the time, not the
    arithmetic.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        def objective(net, x, y):
            return 100 * jnp.mean((net(x) - y) ** 2) + sx.penalty(net)

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        step = sx.TrainingStep(net, objective)
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
        optimizer: Optimizer | optax.GradientTransformation = Optimizer(schedule=Constant()),
    ):
        """**Arguments:**

        - `model`: any Equinox module; its floating-point arrays are trained.
        - `objective`: a function `objective(model, *batch)` that returns the number to minimise.
        - `optimizer`: an [`shootax.Optimizer`][] with `schedule=sx.Constant()`, because the length of
            your loop is not known; `freeze` then counts steps instead of epochs. Or a complete Optax
            optimiser, which may have a schedule.
        """
        optimizer = as_optimizer(optimizer)
        if isinstance(optimizer, Optimizer) and not isinstance(optimizer.schedule, Constant):
            raise ValueError(
                f"TrainingStep does not know how many steps there will be, but {optimizer.schedule} "
                "depends on this. Use Optimizer(..., schedule=sx.Constant()), or an Optax optimiser "
                "with its own schedule."
            )
        if not callable(objective):
            raise ValueError(
                f"objective must be a function of the model and a batch, got {objective!r}."
            )
        self._start, self._frame = take_apart(model)
        self._objective = objective
        self._rule, self._numbers = translate(optimizer, model)
        options = compiler_options(self._start.size, self._start)
        donating = functools.partial(jax.jit, donate_argnums=0)
        self.compiled: Any = compiled(self.pure, options, jit=donating)

    def init(self) -> StepState:
        """The state before the first step."""
        moving = begin(jnp.copy(self._start), self._frame, self._rule)
        # Copy every array, because a step donates the buffers of its state.
        return jax.tree.map(jnp.copy, StepState(moving, jnp.zeros((), int)))

    def model(self, state: StepState) -> Any:
        """The model with the parameters of a state; with `ema`, their moving average."""
        return self._frame.model(state.moving.model)

    def __call__(
        self, state: StepState, *batch: PyTree[Array]
    ) -> tuple[StepState, Float[Array, ""]]:
        """Return the state after a step, and the objective before it. The buffers of the given state
        are donated, so you cannot use it again."""
        with keeping_programs:
            return self.compiled(state, *batch)

    def pure(self, state: StepState, *batch: PyTree[Array]) -> tuple[StepState, Float[Array, ""]]:
        """The step without compilation, to map it over seeds or use it in a larger program."""
        numbers, rule = self._numbers, self._rule

        def objective(vector: Array) -> tuple[Array, None]:
            return self._objective(self._frame.model(vector), *batch), None

        moving, (value, _) = advance(
            state.moving,
            objective,
            self._frame,
            rule,
            numbers,
            learning_rate=numbers.learning_rate,
            sizes=step_sizes(state.count, numbers, rule, state.moving.parameters.dtype),
            passed=state.count.astype(numbers.ema.dtype),
        )
        return StepState(moving, state.count + 1), value
