"""What happens along depth: fits, paths of inputs, and the weights."""

from collections.abc import Mapping, Sequence

import numpy as np

from shootax.controls import AbstractParticles
from shootax.data import FUNCTIONS
from shootax.data.functions import DOMAIN
from shootax.flow import theta_path
from shootax.net import Net
from shootax.plots.style import COLOURS, INK, new_figure

COLOUR = COLOURS["dynamic-particles"]


def particle_fits_figure(nets: Mapping[int, Net], errors: Mapping[int, float], function: str):
    """The fit of each number of particles, with their positions as vertical lines."""
    figure, axes = new_figure(1, len(nets), 2.0 * len(nets), 2.3)
    x = np.linspace(*DOMAIN, 301)[:, None]
    for axis, (count, net) in zip(axes[0], nets.items(), strict=True):
        axis.plot(x, FUNCTIONS[function](x), color=INK, lw=2.5, alpha=0.35, label="truth")
        axis.plot(x, np.asarray(net(x)), color=COLOUR, lw=1.4, label="fit")
        if isinstance(net.control, AbstractParticles):
            outside = 0
            for position in np.asarray(net.control.ensemble.q)[:, 0]:
                if DOMAIN[0] <= position <= DOMAIN[1]:
                    axis.axvline(position, color=COLOUR, lw=0.6, alpha=0.6)
                else:
                    outside += 1
            label = f"x ({outside} particles outside)" if outside else "x"
            axis.set(xlabel=label)
        axis.set(title=f"{count} particles, MSE {errors[count]:.2g}")
    axes[0, 0].set_ylabel("y")
    axes[0, 0].legend(fontsize=8, frameon=False)
    return figure


def mapping_figure(nets: Mapping[str, Net]):
    """The paths $x(t)$ of inputs over the domain, coloured by where they start."""
    from matplotlib import colormaps

    figure, axes = new_figure(1, len(nets), 3.4 * len(nets), 2.6)
    starts = np.linspace(*DOMAIN, 41)
    for axis, (name, net) in zip(axes[0], nets.items(), strict=True):
        times = np.linspace(0, net.control.T, 51)
        paths = np.asarray(net(starts[:, None], times))[:, :, 0]
        for start, path in zip(starts, paths, strict=True):
            shade = (start - DOMAIN[0]) / (DOMAIN[1] - DOMAIN[0])
            axis.plot(times, path, color=colormaps["cividis"](shade), lw=0.8)
        axis.set(title=name, xlabel="depth t")
    axes[0, 0].set_ylabel("x(t)")
    return figure


WEIGHTS = (("theta1", "θ₁"), ("b1", "b₁"), ("theta2", "θ₂"), ("b2", "b₂"), ("theta3", "θ₃"))


def weights_figure(nets: Mapping[int, Net], most: int = 64):
    """Entries of θ1, b1, θ2, b2, θ3 along depth, a row for each inflation factor.

    Of more than `most` entries, so many are drawn: those that change most.
    """
    figure, axes = new_figure(len(nets), len(WEIGHTS), 1.9 * len(WEIGHTS), 1.7 * len(nets) + 0.3)
    for row, (inflation, net) in zip(axes, nets.items(), strict=True):
        times = np.linspace(0, net.control.T, 51)
        theta = theta_path(net.field, net.control, times, integrator=net.integrator)
        for axis, (name, title) in zip(row, WEIGHTS, strict=True):
            entries = np.asarray(theta[name]).reshape(len(times), -1)
            shown = _most_changing(entries, most)
            axis.plot(times, shown, lw=0.6, color=COLOUR, alpha=0.6)
            some = f" ({most} of {entries.shape[1]})" if entries.shape[1] > most else ""
            axis.set(title=f"{title}, α = {inflation}{some}")
            axis.title.set_fontsize(7.5)
            axis.tick_params(labelsize=7)
    for axis in axes[-1]:
        axis.set_xlabel("depth t")
    return figure


def _most_changing(entries: np.ndarray, most: int) -> np.ndarray:
    change: Sequence[float] = np.ptp(entries, axis=0)
    return entries[:, np.argsort(change)[::-1][:most]]
