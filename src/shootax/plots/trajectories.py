"""The spiral: snippets, and the whole pasted from them."""

from collections.abc import Mapping

import jax
import numpy as np

from shootax.data import SpiralSnippets, spiral
from shootax.experiments.spiral import POINTS, TEST, pasted, snippet_times
from shootax.net import Net
from shootax.plots.style import COLOURS, INK, new_figure


def trajectories_figure(nets: Mapping[str, Net]):
    """Above short snippets, below the long trajectory; truth in grey."""
    figure, axes = new_figure(2, len(nets), 2.0 * len(nets), 4.2)
    truth = spiral().x
    x, _ = SpiralSnippets(spiral(), 60, POINTS)(jax.random.key(TEST))
    for (above, below), (name, net) in zip(axes.T, nets.items(), strict=True):
        colour = COLOURS[name]
        for axis in (above, below):
            axis.plot(*truth.T, color=INK, lw=2.2, alpha=0.3, label="truth")
            axis.set_aspect("equal")
            axis.set(xlim=(-2.3, 2.3), ylim=(-2.3, 2.3))
        for piece in np.asarray(net(x, snippet_times())):
            above.plot(*piece.T, color=colour, lw=1.2)
        below.plot(*pasted(net).T, color=colour, lw=1.0, label="pasted")
        above.set_title(name, fontsize=8)
    axes[0, 0].set_ylabel("short range")
    axes[1, 0].set_ylabel("long range, pasted")
    axes[1, 0].legend(fontsize=7, loc="upper right", frameon=False)
    return figure
