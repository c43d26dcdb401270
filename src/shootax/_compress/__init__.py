"""Compress weights to particles: find the smallest ensemble whose θ(t) is that of a given network."""

from shootax._compress.bounds import least_error as least_error
from shootax._compress.search import Compression as Compression
from shootax._compress.search import Point as Point
from shootax._compress.search import compress as compress
