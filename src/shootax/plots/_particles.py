"""Plot of particles over depth."""

from typing import Any

from shootax.plots._axes import (
    CYCLE,
    checked_net,
    depths,
    flattened,
    make_axes,
    particle_states,
)


def particles(net: Any, *, times: Any = None, coordinate: int = 0, axes: Any = None) -> Any:
    """Plot the positions and momenta of the particles of a net over its depth.

    **Arguments:**

    - `net`: a [`shootax.Net`][] with particles. Frozen particles are straight lines.
    - `times`: the times to plot, from 0 to T. The default is 51 evenly spaced times.
    - `coordinate`: the index of the entry of the state to plot. The visible part comes first.
    - `axes`: two Matplotlib axes to draw into. The default is a new figure.

    **Returns:** an array of two Matplotlib axes, for positions and momenta, with one line for each
    particle.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        positions, momenta = sx.plots.particles(net)
        print(len(positions.lines), len(momenta.lines))  # 3 3
        ```
    """
    net = checked_net(net)
    when = depths(net, times)
    moved = particle_states(net, when)
    states = flattened(moved.q), flattened(moved.p)
    size = states[0].shape[-1]
    if not 0 <= coordinate < size:
        raise ValueError(f"`coordinate` must be from 0 to {size - 1}, got {coordinate}.")
    row = make_axes(axes, columns=2)[0]
    for axis, state, name in zip(row, states, ("position q", "momentum p"), strict=True):
        for number, path in enumerate(state[:, :, coordinate].T):
            axis.plot(when, path, color=CYCLE[number % len(CYCLE)], lw=1.1)
        axis.set(xlabel="depth t", ylabel=f"{name}, number {coordinate}")
    return row
