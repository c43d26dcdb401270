"""Axes for the plots of one's own model, and the paths that they draw."""

from typing import Any

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

from shootax import Net, Particles, particle_path
from shootax.extend import AbstractParticleControl, ParticleState
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


def particle_states(net: Net, times: np.ndarray) -> ParticleState:
    """Positions and momenta at the times, with these along the first axis of each array."""
    control = net.control
    if not isinstance(control, AbstractParticleControl):
        raise ValueError(
            f"This net has no particles: its control is {type(control).__name__}. Use Particles, or "
            "look at its weights with `weight_norms`."
        )
    if isinstance(control, Particles):
        return ParticleState(*particle_path(net, times))
    still = ParticleState(control.ensemble.q, control.ensemble.p)
    return jax.tree.map(lambda leaf: jnp.repeat(leaf[None], len(times), axis=0), still)


def flattened(state: Any) -> np.ndarray:
    """A pytree of arrays as one array, with the numbers of each state along the third axis."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state)]
    return np.concatenate([leaf.reshape(*leaf.shape[:2], -1) for leaf in leaves], axis=-1)
