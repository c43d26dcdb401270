"""Integrators that choose each step by its error, through Diffrax."""

import abc
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._integrators.base import AbstractIntegrator, AtEnd, AtNodes, AtTimes, Save, View
from shootax._integrators.gradients import AbstractGradient, Checkpointed, Direct, Reversed
from shootax._systems import AbstractSystem, PathSystem, State, TimePoint

if TYPE_CHECKING:  # imported when first used: it takes as long as half of JAX
    import diffrax


class AbstractAdaptive(AbstractIntegrator):
    """An adaptive method; a subclass names its Diffrax solver.

    The gradient modes are Diffrax's: [`shootax.Direct`][] its direct adjoint,
    [`shootax.Checkpointed`][] the recursive checkpoints, [`shootax.Reversed`][] the backsolve
    adjoint, whose gradient is that of the continuous problem. (If each sample has its own times, the
    particles are stored as a dense solution, which also uses checkpoints in the last mode.) Your own
    gradient modes work only with fixed steps.
    """

    rtol: eqx.AbstractVar[float]
    atol: eqx.AbstractVar[float]
    max_steps: eqx.AbstractVar[int]
    gradient: eqx.AbstractVar[AbstractGradient]

    def __check_init__(self):
        checks.positive_number(self.rtol, "rtol")
        checks.positive_number(self.atol, "atol")
        checks.positive_integer(self.max_steps, "max_steps")
        known = Direct | Checkpointed | Reversed
        checks.instance(self.gradient, known, "gradient", "gradient=Checkpointed()")

    @abc.abstractmethod
    def solver(self) -> "diffrax.AbstractAdaptiveSolver":
        """The Diffrax solver."""

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
        import diffrax

        if isinstance(save, AtNodes):
            raise ValueError("An adaptive integrator has no grid points. Give times instead.")
        if isinstance(save, AtEnd):
            ends = self._states(system, y, T, diffrax.SaveAt(t1=True), reverse)
            return view(jax.tree.map(lambda leaf: leaf[0], ends))
        if save.times.ndim == 1:
            saveat = diffrax.SaveAt(ts=save.times.astype(jnp.result_type(*jax.tree.leaves(y))))
            return jax.vmap(view)(self._states(system, y, T, saveat, reverse))
        return self._solve_each(system, y, T, save, view, reverse)

    def nodes(self, T: float, times: Array, reverse: bool) -> None:
        return None

    def _states(
        self, system: AbstractSystem, y: State, T: float, saveat: Any, reverse: bool
    ) -> State:
        states = self._solve(system, y, T, saveat, reverse).ys
        assert isinstance(states, State)
        return states

    def _solve(
        self, system: AbstractSystem, y: State, T: float, saveat: Any, reverse: bool
    ) -> "diffrax.Solution":
        import diffrax

        # Diffrax computes in the wider of the types of time and state: both are the state's.
        dtype = jnp.result_type(*jax.tree.leaves(y))
        controller: Any = diffrax.PIDController(rtol=self.rtol, atol=self.atol)
        if jumps := system.jumps():
            controller = diffrax.ClipStepSizeController(
                controller, jump_ts=jnp.asarray(jumps, dtype)
            )
        solver = self.solver()
        adjoint: diffrax.AbstractAdjoint = diffrax.RecursiveCheckpointAdjoint()
        if isinstance(self.gradient, Direct):
            adjoint = diffrax.DirectAdjoint()
        elif isinstance(self.gradient, Reversed) and not saveat.dense:
            adjoint = diffrax.BacksolveAdjoint(
                solver=solver, stepsize_controller=controller, max_steps=self.max_steps
            )
        start, end = (jnp.asarray(t, dtype) for t in ((T, 0.0) if reverse else (0.0, T)))
        return diffrax.diffeqsolve(
            diffrax.ODETerm(lambda t, y, system: system(TimePoint(t, t, -1, 0), y)),
            solver,
            start,
            end,
            None,
            y,
            args=system,
            saveat=saveat,
            stepsize_controller=controller,
            adjoint=adjoint,
            max_steps=self.max_steps,
        )

    def _solve_each(
        self, system: AbstractSystem, y: State, T: float, save: AtTimes, view: View, reverse: bool
    ) -> PyTree[Array]:
        """Solve each sample at its own times: the particles once, then each sample with its own steps."""
        import diffrax

        particles, z = system.split(y)
        path: Callable[[TimePoint], PyTree]
        if particles is None:
            assert isinstance(system, PathSystem)
            path = system.path
        else:
            alone = system.join(particles, jax.tree.map(lambda leaf: leaf[:0], z))
            dense = self._solve(system, alone, T, diffrax.SaveAt(dense=True), reverse)
            path = _Interpolated(system, dense)
        each = PathSystem(system.field, path, system.jumps())

        def one(sample: PyTree[Array], times: Array) -> PyTree[Array]:
            saveat = diffrax.SaveAt(ts=times.astype(jnp.result_type(*jax.tree.leaves(sample))))
            start = State(jax.tree.map(lambda leaf: leaf[None], sample), None)
            path = self._states(each, start, T, saveat, reverse).z
            return jax.tree.map(lambda leaf: leaf[:, 0], path)

        return jax.vmap(one)(z, save.times)


class _Interpolated(eqx.Module):
    """θ(t) from an interpolated solution for the particles."""

    system: AbstractSystem
    solution: "diffrax.Solution"

    def __call__(self, point: TimePoint) -> PyTree[Array]:
        state = self.solution.evaluate(point.t)
        return self.system.packed_theta(point, state)


class Dopri5(AbstractAdaptive):
    """Dormand and Prince's fifth-order method, with steps as long as the tolerances allow.

    The error is about `rtol` times the states plus `atol`. The number of steps follows from this.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        net = sx.Net(field, particles=3, integrator=sx.Dopri5(rtol=1e-4), key=jax.random.key(0))
        ```
    """

    rtol: float = eqx.field(static=True, default=1e-5)
    atol: float = eqx.field(static=True, default=1e-6)
    gradient: AbstractGradient = Checkpointed()
    max_steps: int = eqx.field(static=True, default=4096)

    def solver(self) -> "diffrax.AbstractAdaptiveSolver":
        import diffrax

        return diffrax.Dopri5()


class Tsit5(AbstractAdaptive):
    """Tsitouras' fifth-order method, with steps as long as the tolerances allow.

    Usually a little cheaper than [`shootax.Dopri5`][] at the same tolerances.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        net = sx.Net(field, particles=3, integrator=sx.Tsit5(rtol=1e-4), key=jax.random.key(0))
        ```
    """

    rtol: float = eqx.field(static=True, default=1e-5)
    atol: float = eqx.field(static=True, default=1e-6)
    gradient: AbstractGradient = Checkpointed()
    max_steps: int = eqx.field(static=True, default=4096)

    def solver(self) -> "diffrax.AbstractAdaptiveSolver":
        import diffrax

        return diffrax.Tsit5()


for _method in (Dopri5, Tsit5):
    _method.__init__.__doc__ = """**Arguments:**

- `rtol`, `atol`: relative and absolute tolerance of the error of one step.
- `gradient`: what is stored for the backward pass: [`shootax.Direct`][], [`shootax.Checkpointed`][] or
    [`shootax.Reversed`][].
- `max_steps`: the largest number of steps. If more are needed, an error is raised.
"""
