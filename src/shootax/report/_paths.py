"""Weights and particles of a net at given depths."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, PyTree

import shootax as sx
from shootax import Net, Particles
from shootax.extend import AbstractFixedStep, AbstractParticleControl, AtNodes, AtTimes, Stagewise

FEWEST, MOST = 20, 24
"""Bounds for the number of steps of the slider, except for baked nets."""


def depths(net: Net) -> np.ndarray:
    """The depths that a report shows: the grid points of the integrator, refined if there are few.

    A baked net only has states at its grid points.
    """
    T, integrator = net.control.T, net.integrator
    if not isinstance(integrator, AbstractFixedStep):
        return np.linspace(0, T, MOST + 1)
    steps = integrator.steps
    if steps < FEWEST and not isinstance(net.control, Stagewise):
        steps *= -(-FEWEST // steps)
    kept = np.unique(np.round(np.linspace(0, steps, min(steps, MOST) + 1)).astype(int))
    return kept * T / steps


def theta_at(net: Net, times: np.ndarray) -> PyTree[Array]:
    """θ at these depths, stacked along a leading axis."""
    control = net.control
    if isinstance(control, Stagewise):
        return _stage_theta(control, times)
    return sx.theta_path(net, times)


def _stage_theta(control: Stagewise, times: np.ndarray) -> PyTree[Array]:
    """θ at the first stage of the step that starts at each depth; at T, θ at the last stage."""
    steps = jax.tree.leaves(control.theta)[0].shape[0]
    number = np.round(np.asarray(times) * steps / control.T).astype(int)
    step = np.minimum(number, steps - 1)
    stage = np.where(number == steps, -1, 0)
    return jax.tree.map(lambda leaf: leaf[step, stage], control.theta)


def particles_at(net: Net, times: np.ndarray) -> tuple[PyTree[Array], PyTree[Array]] | None:
    """Positions and momenta at these depths, stacked along a leading axis, if there are particles."""
    control = net.control
    if not isinstance(control, AbstractParticleControl):
        return None
    if not isinstance(control, Particles):  # static particles do not move
        ensemble = control.ensemble
        still = jax.tree.map(lambda leaf: jnp.stack([leaf] * len(times)), (ensemble.q, ensemble.p))
        return still
    nodes = net.integrator.nodes(control.T, times, False)  # pyright: ignore[reportArgumentType]
    dtype = jax.tree.leaves(control.ensemble.q)[0].dtype
    save = AtTimes(jnp.asarray(times, dtype)) if nodes is None else AtNodes(nodes)
    return _solved(net, save)


@eqx.filter_jit
def _solved(net: Net, save: Any) -> tuple[PyTree[Array], PyTree[Array]]:
    system = net.control.system(net.field, 0)
    particles = system.start()
    assert particles is not None
    nothing = jax.tree.map(lambda leaf: leaf[:0], particles.q)
    start = system.join(particles, nothing)

    def view(y: Any) -> tuple[PyTree[Array], PyTree[Array]]:
        moved, _ = system.split(y)
        assert moved is not None
        return moved.q, moved.p

    return net.integrator.solve(system, start, net.control.T, save=save, view=view)


def without(net: Net, particle: int) -> Net:
    """The net without one particle. If it is the only one, its momentum becomes zero instead."""
    ensemble = net.control.ensemble  # pyright: ignore[reportAttributeAccessIssue]
    if ensemble.particles == 1:
        still = jax.tree.map(jnp.zeros_like, ensemble.p)
        return eqx.tree_at(lambda n: n.control.ensemble.p, net, still)
    fewer = jax.tree.map(lambda leaf: jnp.delete(leaf, particle, axis=0), ensemble)
    return eqx.tree_at(lambda n: n.control.ensemble, net, fewer)
