"""The style of all figures: safe for colour-blind readers, and readable at column width."""

import pathlib
from typing import Any

# The palette of Okabe and Ito.
COLOURS = {
    "static-direct": "#E69F00",
    "static-particles": "#56B4E9",
    "dynamic-particles": "#009E73",
    "dynamic-direct": "#CC79A7",
}
INK = "#222222"

STYLE: Any = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.edgecolor": INK,
    "figure.dpi": 150,
    "legend.frameon": False,
    "svg.hashsalt": "shootax",
}


def new_figure(rows: int, columns: int, width: float, height: float):
    """Create a figure and its grid of axes in the style of this library. It needs no display.

    **Arguments:**

    - `rows`, `columns`: the numbers of rows and columns of axes.
    - `width`, `height`: the size of the figure in inches.

    !!! example

        ```python
        import shootax as sx

        figure, axes = sx.plots.new_figure(1, 2, width=6.0, height=3.0)
        print(axes.shape)  # (1, 2)
        ```
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        return figure, figure.subplots(rows, columns, squeeze=False)


def save_figure(figure, folder: str | pathlib.Path, name: str) -> list[pathlib.Path]:
    """Write a figure as PNG and SVG, and return the paths.

    **Arguments:**

    - `figure`: the figure.
    - `folder`: the folder to write to.
    - `name`: the name of the files, without ending.

    !!! example

        ```python
        import shootax as sx

        figure, axes = sx.plots.new_figure(1, 1, width=3.0, height=2.0)
        print([path.name for path in sx.plots.save_figure(figure, ".", "empty")])
        ```
    """
    import matplotlib

    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{name}.{ending}" for ending in ("png", "svg")]
    with matplotlib.rc_context(STYLE):
        for path in paths:
            figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    return paths
