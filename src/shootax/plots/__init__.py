"""Plots of your own net, of fits, and of trajectories in the plane.

They need Matplotlib: `pip install 'shootax[plots]'`.
"""

from shootax.plots._depth import mapping_figure as mapping_figure
from shootax.plots._depth import weights_figure as weights_figure
from shootax.plots._energy import energy as energy
from shootax.plots._fits import fit_figure as fit_figure
from shootax.plots._flow import flow as flow
from shootax.plots._history import history as history
from shootax.plots._particles import particles as particles
from shootax.plots._style import COLOURS as COLOURS
from shootax.plots._style import INK as INK
from shootax.plots._style import new_figure as new_figure
from shootax.plots._style import save_figure as save_figure
from shootax.plots._trajectories import trajectories_figure as trajectories_figure
from shootax.plots._weights import weight_matrices as weight_matrices
from shootax.plots._weights import weight_norms as weight_norms
