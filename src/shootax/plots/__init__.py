"""Figures."""

from shootax.plots.fits import fit_figure as fit_figure
from shootax.plots.style import save_figure as save_figure
