"""Explicit Runge-Kutta methods."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from shootax._integrators.fixed import AbstractFixedStep, Step
from shootax._integrators.gradients import AbstractGradient, Direct
from shootax._systems import AbstractSystem, State, TimePoint


class AbstractRungeKutta(AbstractFixedStep):
    """An explicit method; a subclass is its Butcher tableau."""

    matrix: eqx.AbstractClassVar[tuple[tuple[float, ...], ...]]

    def stages(
        self, system: AbstractSystem, step: Step, y: State
    ) -> tuple[State, list[tuple[TimePoint, State]]]:
        new, stages, _ = self._evaluated(system, step, y)
        return new, stages

    def moved_with_slope(self, system: AbstractSystem, step: Step, y: State) -> tuple[State, State]:
        new, _, slope = self._evaluated(system, step, y)
        return new, slope

    def _evaluated(
        self, system: AbstractSystem, step: Step, y: State
    ) -> tuple[State, list[tuple[TimePoint, State]], State]:
        """The state after a step, the stages, and the derivative at the first of them, the start."""
        if system.rolled:
            return self._rolled(system, step, y)
        slopes: list[State] = []
        stages: list[tuple[TimePoint, State]] = []
        for i, (fraction, row) in enumerate(zip(self.fractions, self.matrix, strict=True)):
            at, point = _advance(y, step.h, row, slopes), step.point(fraction, i)
            stages.append((point, at))
            slopes.append(system(point, at))
        return _advance(y, step.h, self.weights, slopes), stages, slopes[0]

    def _rolled(
        self, system: AbstractSystem, step: Step, y: State
    ) -> tuple[State, list[tuple[TimePoint, State]], State]:
        """The same as a loop over the stages, so that the program contains the system once."""
        count, dtype = len(self.fractions), jnp.result_type(*jax.tree.leaves(y))
        matrix = np.array([(*row, *(count - len(row)) * (0.0,)) for row in self.matrix])
        points = [step.point(fraction, i) for i, fraction in enumerate(self.fractions)]

        def stage(slopes: State, line: tuple[TimePoint, Array, Array]) -> tuple[State, State]:
            point, i, row = line
            at = _combined(y, row, slopes)
            slope = system(point, at)
            return jax.tree.map(lambda all_, one: all_.at[i].set(one), slopes, slope), at

        none = jax.tree.map(lambda leaf: jnp.zeros((count, *leaf.shape), leaf.dtype), y)
        lines = (_stacked(points), jnp.arange(count), jnp.asarray(step.h * matrix, dtype))
        slopes, states = jax.lax.scan(stage, none, lines)
        weights = jnp.asarray(step.h * np.array(self.weights), dtype)
        each = [jax.tree.map(lambda leaf, i=i: leaf[i], states) for i in range(count)]
        first = jax.tree.map(lambda leaf: leaf[0], slopes)
        return _combined(y, weights, slopes), list(zip(points, each, strict=True)), first


def _stacked(points: list[TimePoint]) -> TimePoint:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *points)


def _combined(y: State, weights: Array, slopes: State) -> State:
    return jax.tree.map(lambda base, all_: base + jnp.tensordot(weights, all_, 1), y, slopes)


def _advance(y: State, h: float, weights: tuple, slopes: list[State]) -> State:
    used = [(w, slope) for w, slope in zip(weights, slopes, strict=True) if w != 0]

    def one(base: Array, *parts: Array) -> Array:
        for (weight, _), part in zip(used, parts, strict=True):
            base = base + (h * weight) * part
        return base

    return jax.tree.map(one, y, *(slope for _, slope in used))


ARGUMENTS = """**Arguments:**

- `steps`: the number of equal steps over $[0, T]$.
- `gradient`: what is stored for the backward pass: [`shootax.Direct`][], [`shootax.Checkpointed`][] or
    [`shootax.Reversed`][].
"""


class Euler(AbstractRungeKutta):
    """The explicit Euler method: each step is a layer $z + h f(z, θ)$ of a residual network.

    First order: twice the steps, half the error. One evaluation of the field per step.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        net = sx.Net(field, particles=3, integrator=sx.Euler(steps=20), key=jax.random.key(0))
        ```
    """

    order: ClassVar[int] = 1
    fractions: ClassVar[tuple[float, ...]] = (0.0,)
    matrix: ClassVar[tuple[tuple[float, ...], ...]] = ((),)
    weights: ClassVar[tuple[float, ...]] = (1.0,)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()


class Heun(AbstractRungeKutta):
    """Heun's method: a step with the mean of the velocities at both of its ends.

    Second order: twice the steps, a quarter of the error. Two evaluations of the field per step.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        net = sx.Net(field, particles=3, integrator=sx.Heun(steps=10), key=jax.random.key(0))
        ```
    """

    order: ClassVar[int] = 2
    fractions: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    matrix: ClassVar[tuple[tuple[float, ...], ...]] = ((), (1.0,))
    weights: ClassVar[tuple[float, ...]] = (0.5, 0.5)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()


class RK4(AbstractRungeKutta):
    """The classical Runge-Kutta method: the paper's choice, and the default.

    Fourth order: twice the steps, a sixteenth of the error. Four evaluations of the field per step.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        rk4 = sx.RK4(steps=20, gradient=sx.Checkpointed())
        net = sx.Net(field, particles=3, integrator=rk4, key=jax.random.key(0))
        ```
    """

    order: ClassVar[int] = 4
    fractions: ClassVar[tuple[float, ...]] = (0.0, 0.5, 0.5, 1.0)
    matrix: ClassVar[tuple[tuple[float, ...], ...]] = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
    weights: ClassVar[tuple[float, ...]] = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()


for _method in (Euler, Heun, RK4):
    _method.__init__.__doc__ = ARGUMENTS
