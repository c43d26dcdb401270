"""Axes for the plots of a net, and the trajectories in them."""

from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

from shootax import Net, Particles, particle_path
from shootax.extend import AbstractParticleControl, ParticleState
from shootax.plots._style import STYLE

# The palette of Okabe and Ito, which colour-blind readers can tell apart.
CYCLE = ("#009E73", "#E69F00", "#56B4E9", "#CC79A7", "#0072B2", "#D55E00", "#F0E442", "#999999")
POINTS = 51
"""The default number of times between 0 and T."""


def make_axes(axes: Any, columns: int = 1, rows: int = 1, size: tuple[float, float] = (4.2, 3.0)):
    """The given axes, or the axes of a new figure, as an array of `rows` by `columns`."""
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
            f"This plot needs {rows * columns} axes, got {given.size}. Omit `axes` to make a new "
            "figure."
        )
    return given.reshape(rows, columns)


def checked_net(net: Any) -> Net:
    """Check that `net` is a net, and return it."""
    if not isinstance(net, Net):
        raise ValueError(
            f"This plot needs a shootax.Net, got {type(net).__name__}. Give the net inside your "
            "model, as in `model.net`."
        )
    return net


def depths(net: Net, times: Any) -> np.ndarray:
    """The given times or, by default, evenly spaced times from 0 to T."""
    if times is None:
        return np.linspace(0, net.control.T, POINTS)
    return np.atleast_1d(np.asarray(times, float))


def particle_states(net: Net, times: np.ndarray) -> ParticleState:
    """Positions and momenta at the times, which are the first axis of each array."""
    control = net.control
    if not isinstance(control, AbstractParticleControl):
        raise ValueError(
            f"This net has no particles: its control is {type(control).__name__}. Use Particles, or "
            "plot its weights with `weight_norms`."
        )
    if isinstance(control, Particles):
        return ParticleState(*particle_path(net, times))
    still = ParticleState(control.ensemble.q, control.ensemble.p)
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], len(times), axis=0), still)


def flattened(state: Any) -> np.ndarray:
    """Flatten a PyTree of arrays to one array, whose third axis is the entries of each state."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
    return np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1)
