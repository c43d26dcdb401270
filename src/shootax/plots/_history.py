"""Plot of the history of a training."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shootax import FitResult
from shootax import _checks as checks
from shootax.plots._axes import CYCLE, make_axes

CURVES = ("objective", "data", "penalty", "validation")


def history(result: Any, *, curves: Any = None, axes: Any = None) -> Any:
    """Plot the curves of a training against the epoch, on a logarithmic scale.

    **Arguments:**

    - `result`: the result of [`shootax.fit`][], or its `history`.
    - `curves`: names in the history. The default is `"objective"`, `"data"`, `"penalty"` and
        `"validation"`, as far as they were recorded.
    - `axes`: Matplotlib axes to draw into. The default is a new figure.

    **Returns:** the Matplotlib axes, with one line for each curve, labelled with its name.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 20)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        axes = sx.plots.history(sx.fit(net, x, x**2, epochs=3))
        print([line.get_label() for line in axes.lines])  # ['objective', 'data', 'penalty']
        ```
    """
    checks.instance(result, Mapping | FitResult, "result", "history(fit(net, x, y))")
    recorded = result if isinstance(result, Mapping) else result.history
    chosen = CURVES if curves is None else tuple(curves)
    unknown = [name for name in chosen if name not in recorded]
    if unknown and curves is not None:
        raise ValueError(f"The history has no {unknown[0]!r}. Choose from {', '.join(recorded)}.")
    (axis,) = make_axes(axes).ravel()
    for name, colour in zip(chosen, CYCLE * 4, strict=False):
        values = np.asarray(recorded.get(name, ()), float)
        if np.isfinite(values).any():
            epochs = np.arange(1, len(values) + 1)
            axis.plot(epochs, values, color=colour, lw=1.2, label=name)
    axis.set(xlabel="epoch", yscale="log")
    axis.legend(frameon=False)
    return axis
