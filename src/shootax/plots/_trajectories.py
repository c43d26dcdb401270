"""Figure of trajectories in the plane: short pieces and a long one."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float

from shootax.plots._style import COLOURS, INK, new_figure


def trajectories_figure(
    truth: Float[np.ndarray, "points 2"],
    short: Mapping[str, Float[np.ndarray, "pieces times 2"]],
    long: Mapping[str, Float[np.ndarray, "times 2"]],
) -> Any:
    """Draw short trajectories of each model above a long one, with the true trajectory in grey.

    **Arguments:**

    - `truth`: the true points, `(points, 2)`.
    - `short`: the predictions of each model, by name, for short pieces, `(pieces, times, 2)`.
    - `long`: the predictions of each model, by name, for a long trajectory, `(times, 2)`.

    **Returns:** a Matplotlib figure.

    !!! example

        ```python
        import shootax as sx

        truth = sx.data.spiral().x
        figure = sx.plots.trajectories_figure(truth, {"truth": truth[None, :5]}, {"truth": truth})
        ```
    """
    figure, axes = new_figure(2, len(short), 2.0 * len(short), 4.2)
    reach = 1.15 * np.abs(truth).max()
    for (above, below), (name, pieces) in zip(axes.T, short.items(), strict=True):
        colour = COLOURS.get(name, "#0072B2")
        for axis in (above, below):
            axis.plot(*truth.T, color=INK, lw=2.2, alpha=0.3, label="truth")
            axis.set_aspect("equal")
            axis.set(xlim=(-reach, reach), ylim=(-reach, reach))
        for piece in pieces:
            above.plot(*np.asarray(piece).T, color=colour, lw=1.2)
        below.plot(*np.asarray(long[name]).T, color=colour, lw=1.0, label="pasted")
        above.set_title(name, fontsize=8)
    axes[0, 0].set_ylabel("short range")
    axes[1, 0].set_ylabel("long range, pasted")
    lines, names = axes[1, 0].get_legend_handles_labels()
    figure.legend(lines, names, loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure
