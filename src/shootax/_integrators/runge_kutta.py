"""Explicit Runge-Kutta methods."""

from typing import ClassVar

import equinox as eqx
import jax
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
        slopes: list[State] = []
        stages: list[tuple[TimePoint, State]] = []
        for i, (fraction, row) in enumerate(zip(self.fractions, self.matrix, strict=True)):
            at, moment = _advance(y, step.h, row, slopes), step.moment(fraction, i)
            stages.append((moment, at))
            slopes.append(system(moment, at))
        return _advance(y, step.h, self.weights, slopes), stages


def _advance(y: State, h: float, weights: tuple, slopes: list[State]) -> State:
    used = [(w, slope) for w, slope in zip(weights, slopes, strict=True) if w != 0]

    def one(base: Array, *parts: Array) -> Array:
        for (weight, _), part in zip(used, parts, strict=True):
            base = base + (h * weight) * part
        return base

    return jax.tree.map(one, y, *(slope for _, slope in used))


class Euler(AbstractRungeKutta):
    """The explicit Euler method: a residual network, first order.

    **Arguments:** `steps`, the number of equal steps over $[0, T]$; `gradient`, a gradient mode.
    """

    order: ClassVar[int] = 1
    fractions: ClassVar[tuple[float, ...]] = (0.0,)
    matrix: ClassVar[tuple[tuple[float, ...], ...]] = ((),)
    weights: ClassVar[tuple[float, ...]] = (1.0,)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()


class Heun(AbstractRungeKutta):
    """Heun's method, second order.

    **Arguments:** `steps`, the number of equal steps over $[0, T]$; `gradient`, a gradient mode.
    """

    order: ClassVar[int] = 2
    fractions: ClassVar[tuple[float, ...]] = (0.0, 1.0)
    matrix: ClassVar[tuple[tuple[float, ...], ...]] = ((), (1.0,))
    weights: ClassVar[tuple[float, ...]] = (0.5, 0.5)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()


class RK4(AbstractRungeKutta):
    """The classical Runge-Kutta method, fourth order: the paper's choice.

    **Arguments:** `steps`, the number of equal steps over $[0, T]$; `gradient`, a gradient mode.
    """

    order: ClassVar[int] = 4
    fractions: ClassVar[tuple[float, ...]] = (0.0, 0.5, 0.5, 1.0)
    matrix: ClassVar[tuple[tuple[float, ...], ...]] = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
    weights: ClassVar[tuple[float, ...]] = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()
