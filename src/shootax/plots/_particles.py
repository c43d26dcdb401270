"""Particles along depth."""

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
    """Draws positions and momenta of the particles of a net along its depth.

    **Arguments:**

    - `net`: a [`shootax.Net`][] with particles. Frozen ones are straight lines.
    - `times`: where to look, from 0 to T; by default 51 even times.
    - `coordinate`: which number of the state to draw. The visible part comes first.
    - `axes`: two Matplotlib axes to draw into, instead of a new figure.

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
