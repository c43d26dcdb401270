"""From weights to particles: the smallest ensemble whose θ(t) is that of a given network."""

from shootax.compress.bounds import least_error as least_error
from shootax.compress.search import Compression as Compression
from shootax.compress.search import Point as Point
from shootax.compress.search import compress as compress
