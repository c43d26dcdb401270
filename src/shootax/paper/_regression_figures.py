"""The figures of the two functions of one variable."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shootax import Net
from shootax.data import DOMAIN, FUNCTIONS
from shootax.extend import AbstractParticleControl
from shootax.paper._boxes import COMPLEXITY, box_figure
from shootax.paper._results import Drawn, Results, Run
from shootax.plots import COLOURS, INK, mapping_figure, new_figure, weights_figure

COLOUR = COLOURS["dynamic-particles"]


def figures(results: Results) -> Drawn:
    """The names of the figures, each with a function that draws it."""
    name = results.settings.experiment
    panels = [("test_mse", "test MSE", True), COMPLEXITY]
    title = f"{name}, {results.title()}"
    yield "loss_and_complexity", lambda: box_figure(results, panels, title)
    few = _by_particles(results)
    if few:
        errors = {count: run["test_mse"] for count, run in few.items()}
        yield "fits_by_particles", lambda: particle_fits_figure(results.nets(few), errors, name)
    shown = _shown(results)
    for inflation in shown[:1]:
        found = _typical(results, inflation)
        if found:
            yield "mapping", lambda found=found: mapping_figure(results.nets(found), *DOMAIN)
    deep = {f"α = {a}": run for a in shown if (run := _dynamic(results, a)) is not None}
    if deep:
        yield "weights_along_depth", lambda: weights_figure(results.nets(deep))


def needed(results: Results) -> list[Run]:
    """The runs whose models the figures need."""
    runs = [*_by_particles(results).values()]
    for i, inflation in enumerate(_shown(results)):
        for name, run in _typical(results, inflation).items():
            if i == 0 or name == "dynamic-particles":
                runs.append(run)
    return runs


def particle_fits_figure(
    nets: Mapping[int, Net], errors: Mapping[int, float], function: str
) -> Any:
    """Draw the fit for each number of particles, with the particles' positions as vertical lines."""
    figure, axes = new_figure(1, len(nets), 2.0 * len(nets), 2.3)
    x = np.linspace(*DOMAIN, 301)[:, None]
    for axis, (count, net) in zip(axes[0], nets.items(), strict=True):
        axis.plot(x, FUNCTIONS[function](x), color=INK, lw=2.5, alpha=0.35, label="truth")
        axis.plot(x, np.asarray(net(x)), color=COLOUR, lw=1.4, label="fit")
        if isinstance(net.control, AbstractParticleControl):
            outside = 0
            for position in np.asarray(net.control.ensemble.q)[:, 0]:
                if DOMAIN[0] <= position <= DOMAIN[1]:
                    axis.axvline(position, color=COLOUR, lw=0.6, alpha=0.6)
                else:
                    outside += 1
            label = f"x ({outside} particles outside)" if outside else "x"
            axis.set(xlabel=label)
        axis.set_title(f"{count} particles\nMSE {errors[count]:.2g}", fontsize=8)
    axes[0, 0].set_ylabel("y")
    axes[0, 0].legend(fontsize=8, frameon=False)
    return figure


def _shown(results: Results) -> list[int]:
    """The inflation factors whose models are shown: the paper's 16 and 64, if available."""
    have = results.inflations()
    return [a for a in (16, 64) if a in have] or have[:1]


def _typical(results: Results, inflation: int) -> dict[str, Run]:
    """A typical run of each formulation."""
    return results.typical_of_each("test_mse", results.settings.formulations, inflation)


def _dynamic(results: Results, inflation: int) -> Run | None:
    found = results.typical_of_each("test_mse", ("dynamic-particles",), inflation)
    return found.get("dynamic-particles")


def _by_particles(results: Results) -> dict[int, Run]:
    """A typical run for each number of particles at the first inflation factor that is shown."""
    if not results.inflations():
        return {}
    wanted: dict[str, Any] = {
        "formulation": "dynamic-particles",
        "inflation": _shown(results)[0],
    }
    counts = sorted({run["particles"] for run in results.where(**wanted)})
    found = {count: results.typical("test_mse", particles=count, **wanted) for count in counts}
    return {count: run for count, run in found.items() if run is not None}
