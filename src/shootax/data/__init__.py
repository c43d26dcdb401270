"""Data sets."""

from shootax.data.annuli import annuli as annuli
from shootax.data.balls import ball_paths as ball_paths
from shootax.data.balls import bouncing_balls as bouncing_balls
from shootax.data.functions import FUNCTIONS as FUNCTIONS
from shootax.data.functions import cubic as cubic
from shootax.data.functions import quadratic_like as quadratic_like
from shootax.data.functions import sample_function as sample_function
from shootax.data.rotating import rotating_mnist as rotating_mnist
from shootax.data.rotating import threes as threes
from shootax.data.sequences import Sequences as Sequences
from shootax.data.spiral import Spiral as Spiral
from shootax.data.spiral import SpiralSnippets as SpiralSnippets
from shootax.data.spiral import snippets as snippets
from shootax.data.spiral import spiral as spiral
