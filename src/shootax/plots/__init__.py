"""Figures of models: fits, paths through depth, weights along depth, trajectories in the plane.

They need Matplotlib: `pip install 'shootax[plots]'`.
"""

from shootax.plots._depth import mapping_figure as mapping_figure
from shootax.plots._depth import weights_figure as weights_figure
from shootax.plots._fits import fit_figure as fit_figure
from shootax.plots._style import COLOURS as COLOURS
from shootax.plots._style import INK as INK
from shootax.plots._style import new_figure as new_figure
from shootax.plots._style import save_figure as save_figure
from shootax.plots._trajectories import trajectories_figure as trajectories_figure
