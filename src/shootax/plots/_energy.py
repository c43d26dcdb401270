"""Plot of the Hamiltonian and the penalty over depth."""

from typing import Any

import jax
import numpy as np

from shootax import Net, Particles, hamiltonian_path, theta_path
from shootax.extend import AbstractParticlePenalty
from shootax.plots._axes import CYCLE, checked_net, depths, make_axes, particle_states


def energy(net: Any, *, axes: Any = None) -> Any:
    """Plot the penalty R(θ(t)) over the depth of a net and, if particles move, the Hamiltonian.

    The exact flow conserves the Hamiltonian. If its line is not level, the integrator takes too few
    steps. For a field that is linear in θ, with a quadratic penalty, both lines are the same.

    **Arguments:**

    - `net`: a [`shootax.Net`][] that is not baked.
    - `axes`: Matplotlib axes to draw into. The default is a new figure.

    **Returns:** the Matplotlib axes, with a line for the Hamiltonian, if there is one, and a line for
    the penalty.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.Affine(dim=2), particles=3, key=jax.random.key(0))
        axes = sx.plots.energy(net)
        print([line.get_label() for line in axes.lines])  # ['Hamiltonian', 'penalty R']
        ```
    """
    net = checked_net(net)
    (axis,) = make_axes(axes).ravel()
    times = depths(net, None)
    if isinstance(net.control, Particles):
        times, values = hamiltonian_path(net)
        axis.plot(times, np.asarray(values), color=CYCLE[0], lw=2.5, label="Hamiltonian")
    axis.plot(times, penalty_path(net, times), color=CYCLE[1], ls="--", label="penalty R")
    axis.set(xlabel="depth t", ylabel="energy")
    shown = np.concatenate([np.asarray(line.get_ydata()) for line in axis.lines])
    # The axis starts at zero, because otherwise rounding errors would fill the plot.
    axis.set_ylim(1.2 * min(0.0, shown.min()), 1.2 * max(0.0, shown.max()))
    axis.legend(frameon=False)
    return axis


def penalty_path(net: Net, times: np.ndarray) -> np.ndarray:
    """R(θ(t)) at the times."""
    theta = theta_path(net, times)
    penalty = net.control.penalty
    if isinstance(penalty, AbstractParticlePenalty):
        q = particle_states(net, times).q
        return np.asarray(jax.vmap(lambda th, at: penalty(th, net.field, at))(theta, q))
    return np.asarray(jax.vmap(penalty)(theta))
