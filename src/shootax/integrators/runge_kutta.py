"""Explicit Runge-Kutta methods."""

from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import Array

from shootax.integrators.fixed import AbstractFixedStep, Step
from shootax.integrators.gradients import AbstractGradient, Direct
from shootax.systems import AbstractSystem, Moment, State

Tableau = tuple[tuple[float, ...], ...]


def explicit_stages(
    system: AbstractSystem, step: Step, y: State, nodes: tuple, matrix: Tableau, weights: tuple
) -> tuple[State, list[tuple[Moment, State]]]:
    """One step of the explicit method with this Butcher tableau."""
    slopes: list[State] = []
    stages: list[tuple[Moment, State]] = []
    for i, (node, row) in enumerate(zip(nodes, matrix, strict=True)):
        at, moment = _advance(y, step.h, row, slopes), step.moment(node, i)
        stages.append((moment, at))
        slopes.append(system(moment, at))
    return _advance(y, step.h, weights, slopes), stages


def _advance(y: State, h: float, weights: tuple, slopes: list[State]) -> State:
    used = [(w, slope) for w, slope in zip(weights, slopes, strict=True) if w != 0]

    def one(base: Array, *parts: Array) -> Array:
        for (weight, _), part in zip(used, parts, strict=True):
            base = base + (h * weight) * part
        return base

    return jax.tree.map(one, y, *(slope for _, slope in used))


class Euler(AbstractFixedStep):
    """The explicit Euler method: a residual network, first order.

    **Arguments:** `steps`, the number of equal steps over $[0, T]$; `gradient`, a gradient mode.
    """

    order: ClassVar[int] = 1
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()

    def stages(self, system, step, y):
        return explicit_stages(system, step, y, (0.0,), ((),), (1.0,))


class Heun(AbstractFixedStep):
    """Heun's method, second order.

    **Arguments:** `steps`, the number of equal steps over $[0, T]$; `gradient`, a gradient mode.
    """

    order: ClassVar[int] = 2
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()

    def stages(self, system, step, y):
        return explicit_stages(system, step, y, (0.0, 1.0), ((), (1.0,)), (0.5, 0.5))


class RK4(AbstractFixedStep):
    """The classical Runge-Kutta method, fourth order: the paper's choice.

    **Arguments:** `steps`, the number of equal steps over $[0, T]$; `gradient`, a gradient mode.
    """

    order: ClassVar[int] = 4
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()

    def stages(self, system, step, y):
        matrix = ((), (0.5,), (0.0, 0.5), (0.0, 0.0, 1.0))
        weights = (1 / 6, 1 / 3, 1 / 3, 1 / 6)
        return explicit_stages(system, step, y, (0.0, 0.5, 0.5, 1.0), matrix, weights)
