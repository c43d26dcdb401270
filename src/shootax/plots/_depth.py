"""Figures of the trajectories of inputs and of the weights over depth."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from shootax import Net, theta_path
from shootax.plots._style import COLOURS, new_figure

COLOUR = COLOURS["dynamic-particles"]
SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def mapping_figure(nets: Mapping[str, Net], low: float, high: float, paths: int = 41) -> Any:
    """Draw the trajectories $x(t)$ of inputs between `low` and `high`, coloured by their start.

    **Arguments:**

    - `nets`: nets with one input, by title.
    - `low`, `high`: the ends of the interval.
    - `paths`: the number of trajectories.

    **Returns:** a Matplotlib figure.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        figure = sx.plots.mapping_figure({"before training": net}, -1.0, 1.0)
        ```
    """
    from matplotlib import colormaps

    figure, axes = new_figure(1, len(nets), 3.4 * len(nets), 2.6)
    starts = np.linspace(low, high, paths)
    for axis, (name, net) in zip(axes[0], nets.items(), strict=True):
        times = np.linspace(0, net.control.T, 51)
        drawn = np.asarray(net(starts[:, None], times))[:, :, 0]
        for start, path in zip(starts, drawn, strict=True):
            shade = (start - low) / (high - low)
            axis.plot(times, path, color=colormaps["cividis"](shade), lw=0.8)
        axis.set(title=name, xlabel="depth t")
    axes[0, 0].set_ylabel("x(t)")
    return figure


def weights_figure(nets: Mapping[str, Net], most: int = 64) -> Any:
    """Draw the entries of θ over depth: a row of panels for each net, a column for each part of θ.

    **Arguments:**

    - `nets`: nets whose fields are of the same kind, by title.
    - `most`: the largest number of entries of a part to draw. Those that change most are drawn.

    **Returns:** a Matplotlib figure.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.Affine(dim=2), particles=3, key=jax.random.key(0))
        figure = sx.plots.weights_figure({"before training": net})
        ```
    """
    drawn = {title: _parts(net) for title, net in nets.items()}
    columns = max(len(parts) for _, parts in drawn.values())
    figure, axes = new_figure(len(nets), columns, 1.9 * columns, 1.7 * len(nets) + 0.3)
    for row, (title, (times, parts)) in zip(axes, drawn.items(), strict=True):
        for axis in row[len(parts) :]:
            axis.set_axis_off()
        for axis, (name, entries) in zip(row, parts.items(), strict=False):
            axis.plot(times, _most_changing(entries, most), lw=0.6, color=COLOUR, alpha=0.6)
            some = f" ({most} of {entries.shape[1]})" if entries.shape[1] > most else ""
            axis.set(title=f"{name}, {title}{some}")
            axis.title.set_fontsize(7.5)
            axis.tick_params(labelsize=7)
    for axis in axes[-1]:
        axis.set_xlabel("depth t")
    return figure


def _parts(net: Net) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The times, and the entries of each part of θ at these times."""
    times = np.linspace(0, net.control.T, 51)
    theta = theta_path(net, times)
    leaves = jax.tree_util.tree_leaves_with_path(theta)
    return times, {_symbol(path): np.asarray(leaf).reshape(len(times), -1) for path, leaf in leaves}


def _symbol(path: tuple[Any, ...]) -> str:
    """`theta1` as θ₁, `b2` as b₂."""
    name = ".".join(str(getattr(key, "key", getattr(key, "name", key))) for key in path)
    return name.replace("theta", "θ").translate(SUBSCRIPTS)


def _most_changing(entries: np.ndarray, most: int) -> np.ndarray:
    return entries[:, np.argsort(np.ptp(entries, axis=0))[::-1][:most]]
