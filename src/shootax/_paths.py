"""The weights and the particles of a net over depth."""

from typing import Any

import numpy as np
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._controls import BAKED, Particles, Quadrature
from shootax._flow import along, check_times, host_times
from shootax._net import Net
from shootax._systems import AbstractSystem, State, TimePoint


def theta_path(net: Net, times: Any) -> PyTree[Array]:
    """The weights θ(t) of a net at the given times, stacked along a leading axis.

    **Arguments:**

    - `net`: a [`shootax.Net`][]. For a chain, call this for each of its nets.
    - `times`: `(times,)`, increasing, in $[0, T]$.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        theta = sx.theta_path(net, np.linspace(0, 1, 11))
        print(theta["theta1"].shape)  # (11, 1, 4)
        ```
    """
    net = one_net(net, "theta_path")
    if isinstance(net.control, BAKED):
        raise ValueError(
            "A baked model has weights only at the stages of its integrator: in net.control.theta, or "
            "as particles in net.control.q and net.control.p. Use the original model for other times."
        )
    return along(net.field, net.control, _theta, time_points(net, times), net.integrator)


def particle_path(net: Net, times: Any) -> tuple[PyTree[Array], PyTree[Array]]:
    """Positions $q(t)$ and momenta $p(t)$ of the particles (EqShootingForward) at the given times.

    **Arguments:**

    - `net`: a [`shootax.Net`][] with a [`shootax.Particles`][] control.
    - `times`: `(times,)`, increasing, in $[0, T]$.

    **Returns:** `(q, p)`, each `(times, particles, ...)`.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        q, p = sx.particle_path(net, [0.0, 0.5, 1.0])
        print(q.shape)  # (3, 3, 5)
        ```
    """
    net = moving(net, "particle_path")
    return along(net.field, net.control, _particles, time_points(net, times), net.integrator)


def one_net(net: Any, name: str) -> Net:
    """Return `net` if it is one net, not a chain, a control or anything else."""
    return checks.instance(net, Net, f"The model of {name}", f"{name}(net) with one Net")


def moving(net: Any, name: str) -> Net:
    """Return `net` if it is a net whose particles move."""
    net = one_net(net, name)
    if not isinstance(net.control, Particles):
        raise ValueError(
            f"{name} needs a net whose particles move; this one has a "
            f"{type(net.control).__name__} control. Use a net with Particles."
        )
    return net


def time_points(net: Net, times: Any) -> TimePoint:
    """Convert the `times` that a user gave to time points."""
    known = host_times(times)
    if known.ndim != 1 or known.size == 0:
        raise ValueError(f"times must have shape (times,), got shape {known.shape}.")
    check_times(known, net.control.T)
    return Quadrature.at(known, np.ones_like(known)).points


def _theta(system: AbstractSystem, point: TimePoint, y: State) -> PyTree[Array]:
    return system.theta(point, y)


def _particles(system: AbstractSystem, point: TimePoint, y: State) -> PyTree[Array]:
    particles, _ = system.split(y)
    assert particles is not None
    return particles.q, particles.p
