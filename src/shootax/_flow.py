"""Data through a control: the one verb of the library."""

import functools
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from shootax import _checks as checks
from shootax._controls import AbstractControl, AbstractParticleControl, Quadrature, Stagewise
from shootax._errors import NotConvergedError
from shootax._fields import AbstractField
from shootax._integrators import RK4, AbstractIntegrator, AtEnd, AtNodes, AtTimes, Save
from shootax._maximisers import AbstractIterative, maximise
from shootax._systems import AbstractSystem, ParticleState, State, TimePoint
from shootax._trajectory import alone, evaluate_at


def flow(
    field: AbstractField,
    control: AbstractControl,
    z: PyTree[Array],
    *,
    times: Float[Array, " times"] | Float[Array, "rows times"] | None = None,
    integrator: AbstractIntegrator = RK4(),
    reverse: bool = False,
) -> PyTree[Array]:
    """Moves the states `z` by $\\dot z = f(z, θ(t))$ from $t = 0$ to $T$.

    The particles, if the control has any, are integrated once, however many rows there are.

    **Arguments:**

    - `field`: the vector field.
    - `control`: where θ(t) comes from.
    - `z`: states, with rows along the leading axis.
    - `times`: when to report the states, in the order of travel: `(times,)` for all rows, or
        `(rows, times)` for each row its own. Times on the grid of a fixed-step integrator are
        exact; between grid points they are interpolated to fourth order. Times outside of $[0, T]$
        or out of order are an error; inside a `jit`, where they cannot be looked at, the states
        there are NaN.
    - `integrator`: how the equations are solved.
    - `reverse`: whether `z` is given at $t = T$ and moved back to $t = 0$.

    **Returns:**

    The states at the end, or at the times as `(rows, times, ...)`.
    """
    rows = _check_states(field, z)
    save, wrong = _when(times, control.T, rows, integrator, reverse), None
    if isinstance(save, AtTimes) and not checks.is_concrete(times):
        safe, wrong = _safe_times(save.times, control.T, reverse)
        save = AtTimes(safe)
    if isinstance(control, Stagewise):
        control.check(integrator)
        if reverse or isinstance(save, AtTimes):
            raise ValueError(
                "A baked model goes forward and reports at the grid points of its integrator alone. "
                "Use the original model for other times, or for the way back."
            )
    out = _flow(field, control, z, save, integrator, reverse)
    if wrong is not None:
        return jax.tree.map(lambda leaf: _blanked(leaf, wrong), out)
    if isinstance(control, AbstractParticleControl):
        _explain(field, control, out)
    return out


def _explain(field: AbstractField, control: AbstractParticleControl, out: PyTree[Array]) -> None:
    """Where an inner maximisation failed the states are NaN: says why, if it can be looked at."""
    leaves = jax.tree.leaves((out, control))
    iterative = isinstance(control.maximiser, AbstractIterative)
    if not iterative or not all(map(checks.is_concrete, leaves)):
        return
    if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(out)):
        q, p = control.ensemble.q, control.ensemble.p
        maximise(field, control.penalty, q, p, maximiser=control.maximiser)
        raise NotConvergedError(
            f"The inner maximisation for θ of {type(field).__name__} failed on the way, though not at "
            "t = 0: its maximum moved too fast, or ceased to exist. Take more steps, allow more "
            "iterations, or use smaller momenta."
        )


@eqx.filter_jit
def _flow(field, control, z, save, integrator, reverse) -> PyTree[Array]:
    rows = jax.tree.leaves(z)[0].shape[0]
    system = control.system(field, rows)
    particles = system.start()
    if reverse and particles is not None:
        particles = _particles_at_end(system, particles, control.T, integrator)
    out = integrator.solve(
        system,
        system.join(particles, z),
        control.T,
        save=save,
        view=lambda y: system.split(y)[1],
        reverse=reverse,
    )
    shared = isinstance(save, AtNodes) or (isinstance(save, AtTimes) and save.times.ndim == 1)
    return jax.tree.map(lambda leaf: jnp.swapaxes(leaf, 0, 1), out) if shared else out


def _particles_at_end(
    system: AbstractSystem,
    particles: ParticleState,
    T: float,
    integrator: AbstractIntegrator,
) -> ParticleState:
    start = alone(system, particles)
    return integrator.solve(system, start, T, view=lambda y: system.split(y)[0])


def along(
    field: AbstractField,
    control: AbstractControl,
    measure: Callable[[AbstractSystem, TimePoint, State], PyTree[Array]],
    moments: TimePoint,
    integrator: AbstractIntegrator,
) -> PyTree[Array]:
    """`measure(system, moment, y)` at given moments along the control, without any data."""
    nodes = integrator.nodes(control.T, moments.t, False)
    return _along(field, control, measure, moments, nodes, integrator)


@eqx.filter_jit
def _along(field, control, measure, moments, nodes, integrator) -> PyTree[Array]:
    system = control.system(field, 0)
    report = functools.partial(measure, system)
    return evaluate_at(system, control.T, integrator, moments, nodes, report)


def theta_path(
    field: AbstractField,
    control: AbstractControl,
    times: Any,
    *,
    integrator: AbstractIntegrator = RK4(),
) -> PyTree[Array]:
    """The weights θ at the given `times`, stacked along a leading axis.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        control = sx.Particles.draw(field, 3, key=jax.random.key(0))
        theta = sx.theta_path(field, control, np.linspace(0, 1, 11))
        print(theta["theta1"].shape)  # (11, 1, 4)
        ```
    """
    times = np.asarray(times, np.float64)
    _check_times(times, control.T, False)
    moments = Quadrature.at(times, np.ones_like(times)).points
    return along(field, control, _theta, moments, integrator)


def _theta(system: AbstractSystem, moment: TimePoint, y: State) -> PyTree[Array]:
    return system.theta(moment, y)


def _check_states(field: AbstractField, z: PyTree[Array]) -> int:
    want, got = jax.tree.flatten(field.state), jax.tree.flatten(z)
    # Particles of a convolution may be smaller images than the data, so only channels are compared.
    space = field.free_axes
    fits = want[1] == got[1] and all(
        jnp.ndim(leaf) == template.ndim + 1
        and jnp.shape(leaf)[1 : jnp.ndim(leaf) - space] == template.shape[: template.ndim - space]
        for leaf, template in zip(got[0], want[0], strict=True)
    )
    if not fits:
        shapes = jax.tree.map(lambda leaf: ("rows", *leaf.shape), field.state)
        raise ValueError(
            f"The states must have shape {_show(shapes)} for {type(field).__name__}, got "
            f"{_show(jax.tree.map(jnp.shape, z))}."
        )
    return jnp.shape(got[0][0])[0]


def _show(shapes: Any) -> str:
    return str(shapes).replace("'", "")


def _when(times: Any, T: float, rows: int, integrator: AbstractIntegrator, reverse: bool) -> Save:
    if times is None:
        return AtEnd()
    if checks.is_concrete(times):
        times = np.asarray(times, np.float64)
    if times.ndim not in (1, 2) or times.size == 0 or (times.ndim == 2 and len(times) != rows):
        raise ValueError(
            f"times must have shape (times,), or ({rows}, times) with one line for each row of the "
            f"data, got shape {times.shape}."
        )
    if checks.is_concrete(times):
        _check_times(times, T, reverse)
        indices = integrator.nodes(T, times, reverse)
        if indices is not None:
            return AtNodes(indices)
    return AtTimes(jnp.asarray(times, jnp.result_type(float)))


def _safe_times(times: Array, T: float, reverse: bool) -> tuple[Array, Array]:
    """Times that an integrator can be asked for, and which of them stand for wrong ones.

    Replaced before the flow and blanked after it, wrong times leave the gradient of the others alone.
    """
    slack, last = 1e-6 * T, times.ndim - 1
    outside = ~((times >= -slack) & (times <= T + slack))  # NaN is outside, too
    if reverse:
        reached = jax.lax.cummin(jnp.where(outside, T, times), axis=last)
        wrong = outside | (times > reached)
    else:
        reached = jax.lax.cummax(jnp.where(outside, 0.0, times), axis=last)
        wrong = outside | (times < reached)
    return jnp.where(wrong, jax.lax.stop_gradient(reached), times), wrong


def _blanked(states: Array, wrong: Array) -> Array:
    """States `(rows, times, ...)` with NaN at the wrong times."""
    shared = wrong[None] if wrong.ndim == 1 else wrong
    mask = shared.reshape(shared.shape + (1,) * (states.ndim - 2))
    return jnp.where(mask, jnp.nan, states)


def _check_times(times: np.ndarray, T: float, reverse: bool) -> None:
    checks.finite(times, "times")
    slack = 1e-6 * T
    if times.min() < -slack or times.max() > T + slack:
        raise ValueError(
            f"times must lie in [0, T] = [0, {T:g}], got times from {times.min():g} to "
            f"{times.max():g}. Give the control a larger T."
        )
    gaps = np.diff(times, axis=-1)
    if (gaps > 0).any() if reverse else (gaps < 0).any():
        order = "decreasing, as the flow goes back in time" if reverse else "increasing"
        raise ValueError(f"times must be sorted and {order}. Sort them along the last axis.")
