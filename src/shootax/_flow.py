"""Move data by the weights of a control."""

import functools
from collections.abc import Callable
from typing import Any, TypeGuard

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from shootax import _checks as checks
from shootax._arrays import as_numbers, model_dtype, model_inputs
from shootax._compile import one_off
from shootax._controls import BAKED, AbstractControl, AbstractParticleControl
from shootax._disk_cache import keeping_programs
from shootax._errors import NotConvergedError
from shootax._fields import AbstractField
from shootax._fork import refuse_after_fork
from shootax._integrators import RK4, AbstractIntegrator, AtEnd, AtNodes, AtTimes, Save
from shootax._maximisers import AbstractIterative, maximise
from shootax._systems import AbstractSystem, ParticleState, State, TimePoint
from shootax._trajectory import alone, evaluate_at


@keeping_programs
def flow(
    field: AbstractField,
    control: AbstractControl,
    z: PyTree[Array],
    *,
    times: Float[Array, " times"] | Float[Array, "batch times"] | None = None,
    integrator: AbstractIntegrator = RK4(),
    reverse: bool = False,
) -> PyTree[Array]:
    """Move the states `z` by $\\dot z = f(z, θ(t))$ from $t = 0$ to $T$ (EqFlow).

    The particles, if the control has any, are integrated once, however large the batch is
    (EqShootingForward). States and times are cast to the dtype of the control's parameters.

    **Arguments:**

    - `field`: the vector field.
    - `control`: where θ(t) comes from.
    - `z`: states `(batch, ...)`.
    - `times`: the times at which to return states, in the order of travel: `(times,)` for the whole
        batch, or `(batch, times)` for separate times for each sample. Times on the grid of a fixed-step
        integrator are exact; between grid points, states are interpolated to fourth order. Times
        outside of $[0, T]$ or out of order raise an error. Inside `jit`, where their values are not
        known, the states at such times are NaN.
    - `integrator`: how the equations are solved.
    - `reverse`: whether `z` is given at $t = T$ and moved back to $t = 0$.

    **Returns:**

    The states at the end, or at the times as `(batch, times, ...)`.

    **Raises:** [`shootax.NotConvergedError`][] if an iterative maximiser fails during the flow. To detect
    this, each call with such a maximiser waits for its result, unless it is inside `jit`. Calls with
    other maximisers do not wait.

    !!! example

        ```python
        import jax
        import jax.numpy as jnp
        import shootax as sx

        field = sx.Affine(dim=2, activation="tanh")
        control = sx.Particles.draw(field, 4, key=jax.random.key(0))
        start = jnp.ones((3, 2))
        end = sx.flow(field, control, start)
        back = sx.flow(field, control, end, reverse=True)
        print(bool(jnp.allclose(start, back, atol=1e-4)))  # True
        ```
    """
    refuse_after_fork()
    checks.instance(field, AbstractField, "field", "flow(field, control, z)")
    checks.instance(control, AbstractControl, "control", "flow(field, control, z)")
    checks.instance(integrator, AbstractIntegrator, "integrator", "integrator=RK4(steps=10)")
    dtype = model_dtype(field, control)
    z = model_inputs(z, dtype, "The states")
    batch = _check_states(field, z)
    save, wrong = _when(times, control.T, batch, integrator, reverse, dtype), None
    if isinstance(save, AtTimes) and not checks.is_concrete(times):
        safe, wrong = _safe_times(save.times, control.T, reverse)
        save = AtTimes(safe)
    if isinstance(control, BAKED):
        control.check(integrator)
        if reverse or isinstance(save, AtTimes):
            raise ValueError(
                "A baked model only runs forward, and returns states only at the grid points of its "
                "integrator. Use the original model for other times, or for the flow back in time."
            )
    run = _flow_solving if _solves(control) else _flow
    out = run(field, control, z, save, integrator, reverse)
    if wrong is not None:
        return jax.tree.map(lambda leaf: _blanked(leaf, wrong), out)
    if _solves(control):
        _explain(field, control, out)
    return out


def _solves(control: AbstractControl) -> TypeGuard[AbstractParticleControl]:
    """Whether θ* is found by iterations."""
    particles = isinstance(control, AbstractParticleControl)
    return particles and isinstance(control.maximiser, AbstractIterative)


def _explain(field: AbstractField, control: AbstractParticleControl, out: PyTree[Array]) -> None:
    """Raise if an inner maximisation failed, which shows as NaN. Traced values pass."""
    leaves = jax.tree.leaves((out, control))
    if not all(map(checks.is_concrete, leaves)) or _all_finite(out):
        return
    q, p = control.ensemble.q, control.ensemble.p
    maximise(field, control.penalty, q, p, maximiser=control.maximiser)
    raise NotConvergedError(
        f"The inner maximisation for θ of {type(field).__name__} failed during the flow, though not "
        "at t = 0: its maximum moved too fast, or ceased to exist. Take more steps, allow more "
        "iterations, or use smaller momenta."
    )


@jax.jit
def _all_finite(tree: PyTree[Array]) -> Array:
    """One truth value, so that nothing larger is copied to the host."""
    return jnp.all(jnp.stack([jnp.isfinite(leaf).all() for leaf in jax.tree.leaves(tree)]))


def _run(field, control, z, save, integrator, reverse) -> PyTree[Array]:
    system = control.system(field, jax.tree.leaves(z)[0].shape[0])
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


_flow = eqx.filter_jit(_run)
_flow_solving = one_off(_run)  # a large program of small operations: optimising it gains nothing


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
    points: TimePoint,
    integrator: AbstractIntegrator,
) -> PyTree[Array]:
    """Evaluate `measure(system, point, y)` at given time points of a control, without any data."""
    refuse_after_fork()
    nodes = integrator.nodes(control.T, points.t, False)
    return _along(field, control, measure, points, nodes, integrator)


@one_off
def _along(field, control, measure, points, nodes, integrator) -> PyTree[Array]:
    system = control.system(field, 0)
    report = functools.partial(measure, system)
    return evaluate_at(system, control.T, integrator, points, nodes, report)


def _check_states(field: AbstractField, z: PyTree[Array]) -> int:
    expected, got = jax.tree.flatten(field.state), jax.tree.flatten(z)
    # Particles of a convolution may be smaller images than the data, so only channels are compared.
    space = field.free_axes
    fits = expected[1] == got[1] and all(
        jnp.ndim(leaf) == template.ndim + 1
        and jnp.shape(leaf)[1 : jnp.ndim(leaf) - space] == template.shape[: template.ndim - space]
        for leaf, template in zip(got[0], expected[0], strict=True)
    )
    if not fits:
        shapes = jax.tree.map(lambda leaf: ("batch", *leaf.shape), field.state)
        raise ValueError(
            f"The states must have shape {_show(shapes)} for {type(field).__name__}, got "
            f"{_show(jax.tree.map(jnp.shape, z))}."
        )
    return jnp.shape(got[0][0])[0]


def _show(shapes: Any) -> str:
    return str(shapes).replace("'", "")


def _when(
    times: Any, T: float, batch: int, integrator: AbstractIntegrator, reverse: bool, dtype: Any
) -> Save:
    if times is None:
        return AtEnd()
    times = host_times(times) if checks.is_concrete(times) else times
    if times.ndim not in (1, 2) or times.size == 0 or (times.ndim == 2 and len(times) != batch):
        raise ValueError(
            f"times must have shape (times,), or ({batch}, times) with one row for each sample of "
            f"the batch, got shape {times.shape}."
        )
    if checks.is_concrete(times):
        check_times(times, T, reverse)
        indices = integrator.nodes(T, times, reverse)
        if indices is not None:
            return AtNodes(indices)
    # Half precision would place a time in the wrong step; the states are in the model's dtype.
    narrow = jnp.finfo(dtype).bits < 32
    return AtTimes(jnp.asarray(times, jnp.float32 if narrow else dtype))


def host_times(times: Any) -> np.ndarray:
    """Times as an array of doubles, if they are numbers."""
    numbers = as_numbers(times)
    checks.real_numbers(numbers, "times")
    return np.asarray(numbers, np.float64)


def _safe_times(times: Array, T: float, reverse: bool) -> tuple[Array, Array]:
    """Return times that an integrator accepts, and a mask of those that replace wrong ones.

    Wrong times are replaced before the flow and their states blanked after it, so that they do not
    affect the gradient of the others.
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
    """States `(batch, times, ...)` with NaN at the wrong times."""
    shared = wrong[None] if wrong.ndim == 1 else wrong
    mask = shared.reshape(shared.shape + (1,) * (states.ndim - 2))
    return jnp.where(mask, jnp.nan, states)


def check_times(times: np.ndarray, T: float, reverse: bool = False) -> None:
    """Raise unless the times are finite, in order, and in $[0, T]$."""
    checks.finite(times, "times")
    slack = 1e-6 * T
    if times.min() < -slack or times.max() > T + slack:
        raise ValueError(
            f"times must lie in [0, T] = [0, {T:g}], got times from {times.min():g} to "
            f"{times.max():g}. Give the control a larger T, or divide your times by their largest."
        )
    gaps = np.diff(times, axis=-1)
    if (gaps > 0).any() if reverse else (gaps < 0).any():
        order = "decreasing, as the flow goes back in time" if reverse else "increasing"
        raise ValueError(f"times must be sorted and {order}. Sort them along the last axis.")
