"""Hamiltonian and penalty along depth."""

from typing import Any

import equinox as eqx
import jax
import numpy as np

from shootax._controls import Particles
from shootax._flow import along, theta_path
from shootax._measures import hamiltonian_path
from shootax._net import Net
from shootax._penalties import AbstractPenalty, Penalty, rate
from shootax._systems import AbstractSystem, State, TimePoint
from shootax.plots._axes import CYCLE, checked_net, depths, make_axes


def energy(net: Any, *, axes: Any = None) -> Any:
    """Draws the penalty R(θ(t)) along the depth of a net and, for moving particles, the Hamiltonian.

    The exact flow conserves the Hamiltonian, so a line that is not level shows that the integrator
    takes too few steps. For a field linear in θ with a quadratic penalty both lines are the same.

    **Arguments:**

    - `net`: a [`shootax.Net`][] with any control but a baked one.
    - `axes`: Matplotlib axes to draw into, instead of a new figure.

    **Returns:** the Matplotlib axes, with a line for the Hamiltonian, if there is one, and one for
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
    if isinstance(net.control, Particles):
        times, values = hamiltonian_path(net)
        axis.plot(times, np.asarray(values), color=CYCLE[0], lw=2.5, label="Hamiltonian")
    times, values = penalty_path(net)
    axis.plot(times, values, color=CYCLE[1], ls="--", label="penalty R")
    axis.set(xlabel="depth t", ylabel="energy")
    shown = np.concatenate([np.asarray(line.get_ydata()) for line in axis.lines])
    # From zero on, else rounding fills the picture.
    axis.set_ylim(1.2 * min(0.0, shown.min()), 1.2 * max(0.0, shown.max()))
    axis.legend(frameon=False)
    return axis


def penalty_path(net: Net) -> tuple[np.ndarray, np.ndarray]:
    """Times and R(θ(t)) there: on the grid for particles that move, else at 51 even times."""
    control = net.control
    if isinstance(control, Particles):
        moments = control.quadrature(net.integrator).moments
        measure = _Rate(control.penalty)
        return moments.t, np.asarray(along(net.field, control, measure, moments, net.integrator))
    times = depths(net, None)
    theta = theta_path(net.field, control, times, integrator=net.integrator)
    penalty = control.penalty
    if isinstance(penalty, AbstractPenalty):
        return times, np.asarray(jax.vmap(penalty)(theta))
    value = control.cost(net.field, net.integrator) / control.T  # frozen particles
    return times, np.full(len(times), float(value))


class _Rate(eqx.Module):
    """R at one moment."""

    penalty: Penalty

    def __call__(self, system: AbstractSystem, moment: TimePoint, y: State) -> Any:
        particles, _ = system.split(y)
        assert particles is not None
        return rate(self.penalty, system.field, particles.q, system.theta(moment, y))
