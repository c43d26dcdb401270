"""Kernels $k(x, y)$ of [`shootax.RKHS`][] fields: scalar and positive definite."""

from shootax._kernels import AbstractKernel as AbstractKernel
from shootax._kernels import GaussianKernel as GaussianKernel
from shootax._kernels import InverseMultiquadric as InverseMultiquadric
from shootax._kernels import LaplaceKernel as LaplaceKernel
from shootax._kernels import SumKernel as SumKernel
