"""Plots of weights over depth."""

from typing import Any

import jax
import numpy as np

from shootax import Net, theta_path
from shootax.plots._axes import CYCLE, checked_net, depths, make_axes


def weight_norms(net: Any, *, times: Any = None, axes: Any = None) -> Any:
    """Plot the Frobenius norm of each weight of θ(t) over the depth of a net.

    **Arguments:**

    - `net`: a [`shootax.Net`][] that is not baked.
    - `times`: the times to plot, from 0 to T. The default is 51 evenly spaced times.
    - `axes`: Matplotlib axes to draw into. The default is a new figure.

    **Returns:** the Matplotlib axes, with one line for each weight, labelled with its name.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.Affine(dim=2), particles=3, key=jax.random.key(0))
        axes = sx.plots.weight_norms(net)
        print([line.get_label() for line in axes.lines])  # ['A', 'b']
        ```
    """
    net = checked_net(net)
    when = depths(net, times)
    (axis,) = make_axes(axes).ravel()
    for number, (name, values) in enumerate(_named_weights(net, when).items()):
        norms = np.linalg.norm(values.reshape(len(when), -1), axis=1)
        axis.plot(when, norms, color=CYCLE[number % len(CYCLE)], label=name)
    axis.set(xlabel="depth t", ylabel="norm of the weights", ylim=(0, None))
    axis.legend(frameon=False)
    return axis


def weight_matrices(net: Any, times: Any = None, *, axes: Any = None) -> Any:
    """Plot the weights θ(t) as heat maps: a row for each weight, a column for each time.

    All heat maps of a weight share a colour scale, which is symmetric about zero. A vector is drawn as
    one column, and a convolution with its inputs and offsets side by side.

    **Arguments:**

    - `net`: a [`shootax.Net`][] that is not baked.
    - `times`: the times to plot, from 0 to T. The default is 0, T/2 and T.
    - `axes`: Matplotlib axes to draw into, one for each heat map. The default is a new figure.

    **Returns:** an array `(weights, times)` of Matplotlib axes.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        print(sx.plots.weight_matrices(net, [0.0, 1.0]).shape)  # (5, 2)
        ```
    """
    net = checked_net(net)
    when = depths(net, np.linspace(0, net.control.T, 3) if times is None else times)
    weights = _named_weights(net, when)
    grid = make_axes(axes, columns=len(when), rows=len(weights), size=(1.7, 1.4))
    for row, (name, values) in zip(grid, weights.items(), strict=True):
        largest = float(np.abs(values).max()) or 1.0
        for axis, t, value in zip(row, when, values, strict=True):
            matrix = value.reshape(value.shape[0] if value.ndim else 1, -1)
            picture = axis.imshow(matrix, cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
            axis.set(xticks=[], yticks=[])
            axis.set_title(f"{name}, t = {t:.2g}", fontsize=8)
        row[-1].figure.colorbar(picture, ax=list(row), shrink=0.9)
    return grid


def _named_weights(net: Net, when: np.ndarray) -> dict[str, np.ndarray]:
    """Each array of θ over depth, `(times, ...)`, by its name."""
    if not jax.tree.leaves(net.field.theta):
        raise ValueError(
            f"{type(net.field).__name__} has no weights θ to plot: its particles are the field. Use "
            "`particles`."
        )
    theta = theta_path(net, when)
    named = jax.tree_util.tree_leaves_with_path(theta)
    return {_name(path): np.asarray(values) for path, values in named}


def _name(path: tuple) -> str:
    return jax.tree_util.keystr(path, simple=True, separator=".") or "θ"
