"""Integration on a fixed grid: one compiled loop over the steps for all methods."""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._integrators.base import AbstractIntegrator, AtEnd, AtNodes, AtTimes, Save, View
from shootax._integrators.gradients import AbstractGradient
from shootax._integrators.interpolation import hermite
from shootax._systems import AbstractSystem, State, TimePoint


class Step(NamedTuple):
    """One step of the fixed grid.

    **Arguments:**

    - `number`: its index, from 0.
    - `t`: the time at which it starts.
    - `h`: its length, negative for a step back in time.

    !!! example

        ```python
        from shootax.extend import Step

        print(Step(number=2, t=0.5, h=0.25).point(1.0, stage=0).t)  # 0.75
        ```
    """

    number: Any
    t: Any
    h: float

    def point(self, fraction: float, stage: int) -> TimePoint:
        """The time point a `fraction` of the way through the step."""
        inside = min(max(fraction, 1e-3), 1 - 1e-3)
        return TimePoint(self.t + fraction * self.h, self.t + inside * self.h, self.number, stage)


class AbstractFixedStep(AbstractIntegrator):
    """A one-step method on an even grid; a subclass defines its `order` and its `stages`.

    θ acts at the `fractions` of each step, and `weights` are the quadrature weights of the velocities
    there. The loop over the steps, results at given times, steps back in time and all gradient modes are
    provided.

    !!! example

        ```python
        from typing import ClassVar

        import equinox as eqx
        import jax
        import shootax as sx


        class Midpoint(sx.extend.AbstractFixedStep):
            order: ClassVar[int] = 2
            fractions: ClassVar[tuple[float, ...]] = (0.5,)
            weights: ClassVar[tuple[float, ...]] = (1.0,)
            steps: int = eqx.field(static=True, default=10)
            gradient: sx.extend.AbstractGradient = sx.Direct()

            def stages(self, system, step, y):
                first = system(step.point(0.0, 0), y)
                middle = jax.tree.map(lambda a, b: a + 0.5 * step.h * b, y, first)
                point = step.point(0.5, 0)
                slope = system(point, middle)
                return jax.tree.map(lambda a, b: a + step.h * b, y, slope), [(point, middle)]


        net = sx.Net(sx.UpDown(dim=1), particles=3, integrator=Midpoint(), key=jax.random.key(0))
        ```
    """

    steps: eqx.AbstractVar[int]
    gradient: eqx.AbstractVar[AbstractGradient]
    order: eqx.AbstractClassVar[int]
    fractions: eqx.AbstractClassVar[tuple[float, ...]]
    weights: eqx.AbstractClassVar[tuple[float, ...]]

    def __check_init__(self):
        checks.positive_integer(self.steps, "steps")
        checks.instance(self.gradient, AbstractGradient, "gradient", "gradient=Direct()")

    @abc.abstractmethod
    def stages(
        self, system: AbstractSystem, step: Step, y: State
    ) -> tuple[State, list[tuple[TimePoint, State]]]:
        """The state after a step, and the time points and states at which θ acted during it."""

    def moved_with_slope(self, system: AbstractSystem, step: Step, y: State) -> tuple[State, State]:
        """The state after a step, and the derivative at its start. Override it for a method that
        evaluates this derivative anyway."""
        return self.stages(system, step, y)[0], system(step.point(0.0, 0), y)

    def solve(
        self,
        system: AbstractSystem,
        y: State,
        T: float,
        *,
        save: Save = AtEnd(),
        view: View,
        reverse: bool = False,
    ) -> PyTree[Array]:
        h = (-T if reverse else T) / self.steps
        start = T if reverse else 0.0
        dtype = jnp.result_type(*jax.tree.leaves(y))

        def step(k: Any) -> Step:
            return Step(k, start + k.astype(dtype) * h, h)

        def back(k: Any) -> Step:
            return Step(k, start + (k + 1).astype(dtype) * h, -h)

        def slope_at_end(system: AbstractSystem, y: State, k: Any) -> PyTree:
            return view(system(step(k).point(1.0, 0), y))

        def body(system: AbstractSystem, y: State, k: Any) -> tuple[State, PyTree]:
            if isinstance(save, AtTimes):
                new, first = self.moved_with_slope(system, step(k), y)
                last = slope_at_end(system, new, k) if system.jumps() else None
                return new, (view(new), view(first), last)
            new, _ = self.stages(system, step(k), y)
            return new, view(new) if isinstance(save, AtNodes) else None

        def undo(system: AbstractSystem, y: State, k: Any) -> tuple[State, PyTree]:
            return self.stages(system, back(k), y)[0], None

        def travel(system: AbstractSystem, y: State, steps: int) -> tuple[State, PyTree]:
            end, outputs = self.gradient.run(body, undo, system, y, steps)
            if isinstance(save, AtTimes) and not system.jumps():
                # If θ does not jump, a step ends with the derivative that the next one starts with.
                values, starts, _ = outputs
                last = slope_at_end(system, end, jnp.asarray(steps - 1))
                ends = jax.tree.map(lambda a, b: jnp.concatenate([a[1:], b[None]]), starts, last)
                outputs = values, starts, ends
            return end, outputs

        pieces = system.pieces(self.steps)
        if pieces is None:
            end, outputs = travel(system, y, self.steps)
        else:
            end, outputs = _one_by_one(travel, *pieces, y, self.steps, reverse)
        if isinstance(save, AtEnd):
            return view(end)
        if isinstance(save, AtNodes):
            indices = np.asarray(save.indices, int)
            return jax.tree.map(lambda a: a[indices], _with_start(view(y), outputs))
        values, starts, ends = outputs
        s = save.times / abs(h)
        s = self.steps - s if reverse else s
        return hermite(s, h, _with_start(view(y), values), starts, ends)

    def nodes(self, T: float, times: Array, reverse: bool) -> tuple[int, ...] | None:
        s = np.asarray(times, np.float64) * self.steps / T
        s = self.steps - s if reverse else s
        if s.ndim != 1 or not np.allclose(s, np.round(s), rtol=0, atol=1e-5):
            return None
        return tuple(int(i) for i in np.round(s))


def _one_by_one(
    travel: Callable[[AbstractSystem, State, int], tuple[State, PyTree]],
    make: Callable[[PyTree], AbstractSystem],
    stacked: PyTree[Array],
    y: State,
    steps: int,
    reverse: bool,
) -> tuple[State, PyTree]:
    """Integrate through the pieces of a system, in reverse from the last one. Nothing in a piece depends
    on time, so each counts its steps from zero."""
    each = steps // jax.tree.leaves(stacked)[0].shape[0]

    def piece(y: State, arrays: PyTree) -> tuple[State, PyTree]:
        return travel(make(arrays), y, each)

    end, outputs = jax.lax.scan(piece, y, stacked, reverse=reverse)
    if reverse:
        outputs = jax.tree.map(lambda a: a[::-1], outputs)
    return end, jax.tree.map(lambda a: a.reshape(steps, *a.shape[2:]), outputs)


def _with_start(first: PyTree[Array], rest: PyTree[Array]) -> PyTree[Array]:
    return jax.tree.map(lambda a, b: jnp.concatenate([a[None], b]), first, rest)
