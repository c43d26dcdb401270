"""Kernels $k(x, y)$, scalar and positive definite."""

from shootax.kernels.base import AbstractKernel as AbstractKernel
from shootax.kernels.radial import GaussianKernel as GaussianKernel
from shootax.kernels.radial import InverseMultiquadric as InverseMultiquadric
from shootax.kernels.radial import LaplaceKernel as LaplaceKernel
from shootax.kernels.sums import SumKernel as SumKernel
