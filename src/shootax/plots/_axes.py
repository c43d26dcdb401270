"""Axes for the plots of one's own model, and the paths that they draw."""

from typing import Any

import jax
import matplotlib
import numpy as np

from shootax._controls import AbstractParticleControl, Particles, Quadrature
from shootax._flow import along
from shootax._net import Net
from shootax._systems import AbstractSystem, ParticleState, State, TimePoint
from shootax.plots._style import STYLE

# Okabe and Ito: distinct for every reader.
CYCLE = ("#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#0072B2", "#D55E00", "#F0E442", "#999999")
POINTS = 51
"""Times along depth, where none are given."""


def make_axes(axes: Any, columns: int = 1, rows: int = 1, size: tuple[float, float] = (4.2, 3.0)):
    """The given axes as an array of `rows` by `columns`, or those of a new figure."""
    import matplotlib.pyplot as plt

    if axes is None:
        with matplotlib.rc_context(STYLE):
            shape = (size[0] * columns, size[1] * rows)
            _, axes = plt.subplots(
                rows, columns, figsize=shape, layout="constrained", squeeze=False
            )
        return axes
    given = np.array(axes, dtype=object).reshape(-1)
    if given.size != rows * columns:
        raise ValueError(
            f"This plot draws into {rows * columns} axes, got {given.size}. Leave `axes` out for a "
            "new figure."
        )
    return given.reshape(rows, columns)


def checked_net(net: Any) -> Net:
    """The net, or an error that says what to do with a larger model."""
    if not isinstance(net, Net):
        raise ValueError(
            f"This plot is of a shootax.Net, got a {type(net).__name__}. Give the net inside your "
            "model, as in `model.net`."
        )
    return net


def depths(net: Net, times: Any) -> np.ndarray:
    """The given times, or evenly spaced ones from 0 to T."""
    if times is None:
        return np.linspace(0, net.control.T, POINTS)
    return np.atleast_1d(np.asarray(times, float))


def particle_states(net: Net, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Positions and momenta at the times, each `(times, particles, numbers)`."""
    control = net.control
    if not isinstance(control, AbstractParticleControl):
        raise ValueError(
            f"This net has no particles: its control is {type(control).__name__}. Use Particles, or "
            "look at its weights with `weight_norms`."
        )
    if isinstance(control, Particles):
        moments = Quadrature.at(times, np.ones_like(times)).moments
        state = along(net.field, control, _particles, moments, net.integrator)
        return _flat(state.q, 2), _flat(state.p, 2)
    still = [_flat(part, 1)[None] for part in (control.ensemble.q, control.ensemble.p)]
    q, p = (np.repeat(part, len(times), axis=0) for part in still)
    return q, p


def _particles(system: AbstractSystem, moment: TimePoint, y: State) -> ParticleState:
    particles, _ = system.split(y)
    assert particles is not None
    return particles


def _flat(state: Any, leading: int) -> np.ndarray:
    """A pytree of arrays as one array, with the entries of each state along the last axis."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
    return np.concatenate([leaf.reshape(*leaf.shape[:leading], -1) for leaf in leaves], axis=-1)


def flattened_states(states: Any) -> np.ndarray:
    """States along depth, `(samples, times, numbers)`."""
    return _flat(states, 2)
