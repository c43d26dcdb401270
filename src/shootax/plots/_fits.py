"""Figure of fits of a function of one variable, and of their trajectories over depth."""

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np

from shootax import Net
from shootax.extend import AbstractParticleControl
from shootax.plots._style import COLOURS, INK, new_figure

PARTICLES = "positions of particles at t = 0"


def fit_figure(nets: Mapping[str, Net], x: np.ndarray, y: np.ndarray, title: str):
    """Draw the fit of each net with its particles and, below it, $x(t)$ over depth.

    **Arguments:**

    - `nets`: nets with one input, by name.
    - `x`, `y`: the data.
    - `title`: the title of the figure.

    **Returns:** a Matplotlib figure.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 20)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        figure = sx.plots.fit_figure({"before training": net}, x, x**2, "A parabola")
        ```
    """
    figure, axes = new_figure(2, len(nets), 2.2 * len(nets), 4.2)
    order = np.argsort(x[:, 0])
    x, y = x[order], y[order]
    for column, (name, net) in enumerate(nets.items()):
        colour = COLOURS.get(name, INK)
        above, below = axes[:, column]
        above.plot(x, y, color=INK, lw=2.5, alpha=0.35, label="truth")
        above.plot(x, np.asarray(net(jnp.asarray(x))), color=colour, lw=1.5, label="fit")
        if isinstance(net.control, AbstractParticleControl):
            for position in np.asarray(net.control.ensemble.q)[:, 0]:
                if x.min() <= position <= x.max():
                    above.axvline(position, color=colour, lw=0.6, alpha=0.5, label=PARTICLES)
        above.set(title=name, xlabel="x")
        times = np.linspace(0, net.control.T, 51)
        starts = jnp.linspace(x.min(), x.max(), 25)[:, None]
        below.plot(times, np.asarray(net(starts, times))[:, :, 0].T, color=colour, lw=0.7)
        below.set(xlabel="depth t")
    axes[0, 0].set_ylabel("y")
    axes[1, 0].set_ylabel("x(t)")
    # The legend is outside the panels, where it covers no curve, and has each kind of line once.
    lines = {line.get_label(): line for panel in axes[0] for line in panel.get_lines()}
    figure.legend(lines.values(), lines.keys(), loc="outside lower center", ncols=len(lines))
    figure.suptitle(title)
    return figure
