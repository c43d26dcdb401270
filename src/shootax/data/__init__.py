"""Data sets."""

from shootax.data._annuli import annuli as annuli
from shootax.data._balls import ball_paths as ball_paths
from shootax.data._balls import bouncing_balls as bouncing_balls
from shootax.data._functions import DOMAIN as DOMAIN
from shootax.data._functions import FUNCTIONS as FUNCTIONS
from shootax.data._functions import cubic as cubic
from shootax.data._functions import quadratic_like as quadratic_like
from shootax.data._functions import sample_function as sample_function
from shootax.data._masking import MaskedFrames as MaskedFrames
from shootax.data._mnist import LabelledImages as LabelledImages
from shootax.data._mnist import mnist as mnist
from shootax.data._rotating import HELD_OUT as HELD_OUT
from shootax.data._rotating import deformed as deformed
from shootax.data._rotating import rotating_mnist as rotating_mnist
from shootax.data._rotating import threes as threes
from shootax.data._rotating import turning as turning
from shootax.data._sequences import Sequences as Sequences
from shootax.data._spiral import Spiral as Spiral
from shootax.data._spiral import SpiralSnippets as SpiralSnippets
from shootax.data._spiral import snippets as snippets
from shootax.data._spiral import spiral as spiral
