"""The figures of the spiral."""

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from shootax import FORMULATIONS, Net
from shootax.data import SpiralSnippets, spiral
from shootax.paper._boxes import COMPLEXITY, box_figure
from shootax.paper._results import Drawn, Results, Run
from shootax.paper._spiral import POINTS, TEST, pasted, snippet_times
from shootax.plots import trajectories_figure

SNIPPETS = 60


def figures(results: Results) -> Drawn:
    """The names of the figures, each with a function that draws it."""
    title = results.title()
    short = [("short_range_loss", "short-range loss (norm)", True), COMPLEXITY]
    yield "short_range", lambda: box_figure(results, short, f"spiral, short range, {title}")
    long = [
        ("long_range_loss", "long-range loss (norm)", True),
        ("long_range_complexity_log2_frobenius", COMPLEXITY[1] + ", all pieces", False),
    ]
    yield "long_range", lambda: box_figure(results, long, f"spiral, long range, {title}")
    squared = [
        ("short_range_mse", "short-range MSE", True),
        ("long_range_mse", "long-range MSE", True),
    ]
    yield "squared_norm", lambda: box_figure(results, squared, f"spiral, squared norm, {title}")
    found = _formulations(results)
    if found:
        yield "trajectories", lambda: _trajectories(results.nets(found))


def needed(results: Results) -> list[Run]:
    """The runs whose models the figures need."""
    return list(_formulations(results).values())


def _trajectories(nets: Mapping[str, Net]) -> Any:
    x, _ = SpiralSnippets(spiral(), SNIPPETS, POINTS)(jax.random.key(TEST))
    short = {name: np.asarray(net(x, snippet_times())) for name, net in nets.items()}
    long = {name: pasted(net) for name, net in nets.items()}
    return trajectories_figure(spiral().x, short, long)


def _formulations(results: Results) -> dict[str, Run]:
    """A typical run of each formulation for the trajectories, at α = 32 if available."""
    have = results.inflations()
    if not have:
        return {}
    inflation = 32 if 32 in have else have[0]
    return results.typical_of_each("long_range_loss", FORMULATIONS, inflation)
