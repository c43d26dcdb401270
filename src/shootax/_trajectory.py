"""Evaluate quantities along the trajectory of the particles, without any data."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax._integrators import AbstractFixedStep, AbstractIntegrator, AtNodes, AtTimes, Step
from shootax._systems import AbstractSystem, ParticleState, State, TimePoint


def alone(system: AbstractSystem, particles: ParticleState | None) -> State:
    """The state of `system` with these particles and no data."""
    dtype = precision(system)
    nothing = jax.tree.map(lambda leaf: jnp.zeros((0, *leaf.shape), dtype), system.field.state)
    return system.join(particles, nothing)


def precision(system: AbstractSystem) -> jnp.dtype:
    """The dtype that a system computes in."""
    leaves = jax.tree.leaves(eqx.filter(system, eqx.is_inexact_array))
    return jnp.result_type(*(leaves or [float]))


def evaluate_at(
    system: AbstractSystem,
    T: float,
    integrator: AbstractIntegrator,
    points: TimePoint,
    nodes: Any,
    measure: Callable[[TimePoint, State], PyTree[Array]],
) -> PyTree[Array]:
    """Evaluate `measure(point, y)` at each of the given time points, `(points, ...)`.

    `nodes` are their indices in the grid, as returned by the integrator's `nodes`, or `None`.
    """
    dtype = precision(system)
    clocks = TimePoint(*(jnp.asarray(c, dtype if c.dtype.kind == "f" else int) for c in points))
    particles = system.start()
    if particles is None:
        return jax.lax.map(lambda at: measure(at, State(None, None)), clocks)
    save = AtTimes(clocks.t) if nodes is None else AtNodes(nodes)
    path = integrator.solve(system, alone(system, particles), T, save=save, view=lambda y: y)
    return jax.lax.map(lambda each: measure(*each), (clocks, path))


def evaluate_at_stages(
    system: AbstractSystem,
    T: float,
    integrator: AbstractFixedStep,
    measure: Callable[[TimePoint, State], PyTree[Array]],
) -> PyTree[Array]:
    """Evaluate `measure(point, y)` at every stage of every step, `(steps, stages, ...)`."""
    h, dtype = T / integrator.steps, precision(system)

    def one(y: State, k: Array) -> tuple[State, PyTree]:
        new, stages = integrator.stages(system, Step(k, k.astype(dtype) * h, h), y)
        if system.rolled:
            together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *stages)
            return new, jax.lax.map(lambda each: measure(*each), together)
        measured = [measure(point, at) for point, at in stages]
        return new, jax.tree.map(lambda *leaves: jnp.stack(leaves), *measured)

    start = alone(system, system.start())
    return jax.lax.scan(one, start, jnp.arange(integrator.steps))[1]
