"""Kernels $k(x, y)$, scalar and positive definite."""

from shootax._kernels.base import AbstractKernel as AbstractKernel
from shootax._kernels.radial import GaussianKernel as GaussianKernel
from shootax._kernels.radial import InverseMultiquadric as InverseMultiquadric
from shootax._kernels.radial import LaplaceKernel as LaplaceKernel
from shootax._kernels.sums import SumKernel as SumKernel
