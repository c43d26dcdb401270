"""Plot of the trajectories of data over depth."""

from typing import Any, Literal

import numpy as np

from shootax import _checks as checks
from shootax.plots._axes import checked_net, depths, flattened, make_axes
from shootax.plots._style import INK


def flow(
    net: Any,
    x: Any,
    *,
    times: Any = None,
    show: Literal["output", "state"] = "output",
    colour: Any = None,
    axes: Any = None,
) -> Any:
    """Plot how a net moves a batch of inputs over its depth.

    Outputs of dimension 1 are plotted against depth, outputs of dimension 2 in the plane. For larger
    dimensions, the first two principal components of all trajectories are plotted.

    **Arguments:**

    - `net`: a [`shootax.Net`][].
    - `x`: a batch of inputs, as for `net(x)`.
    - `times`: the times to plot, from 0 to T. The default is 51 evenly spaced times.
    - `show`: `"output"` for the readout of the state, by default its visible part, or `"state"` for the
        whole state.
    - `colour`: a number for each sample, such as its class. The default is the order of the samples.
    - `axes`: Matplotlib axes to draw into. The default is a new figure.

    **Returns:** the Matplotlib axes, with one line for each sample.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        axes = sx.plots.flow(net, np.linspace(-1, 1, 9)[:, None])
        print(len(axes.lines))  # 9
        ```
    """
    from matplotlib import colormaps

    net = checked_net(net)
    checks.one_of(show, ("output", "state"), "show")
    when = depths(net, times)
    paths = flattened(net(x, when) if show == "output" else net.states(x, when))
    paths, names = _planar(paths)
    (axis,) = make_axes(axes).ravel()
    shades = _shades(colour, len(paths))
    for path, shade in zip(paths, shades, strict=True):
        line = (when, path[:, 0]) if path.shape[1] == 1 else path.T
        axis.plot(*line, color=colormaps["viridis"](shade), lw=0.9)
    if len(names) == 2:
        axis.scatter(*paths[:, 0].T, s=8, facecolors="white", edgecolors=INK, lw=0.6, zorder=3)
        axis.scatter(*paths[:, -1].T, s=8, color=INK, zorder=3)
        axis.set(xlabel=names[0], ylabel=names[1])
    else:
        axis.set(xlabel="depth t", ylabel=names[0])
    return axis


def _planar(paths: np.ndarray) -> tuple[np.ndarray, tuple[str, ...]]:
    """Trajectories in at most two dimensions, and the labels of the axes."""
    size = paths.shape[-1]
    if size == 1:
        return paths, ("x(t)",)
    if size == 2:
        return paths, ("x₁", "x₂")
    points = paths.reshape(-1, size)
    middle = points.mean(axis=0)
    directions = np.linalg.svd(points - middle, full_matrices=False)[2][:2]
    return (paths - middle) @ directions.T, ("first component", "second component")


def _shades(colour: Any, samples: int) -> np.ndarray:
    values = np.arange(samples, dtype=float) if colour is None else np.asarray(colour, float)
    if values.shape != (samples,):
        raise ValueError(
            f"`colour` must contain a number for each of the {samples} samples, got shape "
            f"{values.shape}."
        )
    span = np.ptp(values)
    # The yellow end of the colour map is hard to see on white.
    return 0.9 * (values - values.min()) / (span if span > 0 else 1.0)
