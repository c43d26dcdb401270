"""Constants of the kernels of RKHS fields."""

import dataclasses
import math

from shootax import kernels


@dataclasses.dataclass(frozen=True)
class KernelConstants:
    """The constants of a kernel $k(x, y)$ that only depends on $|x - y|$.

    - `diagonal`: $k(x, x)$.
    - `steepness`: $\\sup 2(k(x,x) - k(x,y))/|x-y|^2$, so that $\\operatorname{Lip}(f) ≤ ‖f‖
      \\sqrt{\\mathrm{steepness}}$; infinite if $k$ has a kink at $x = y$.
    - `slope`: the Lipschitz constant of $k(·, y)$.
    """

    diagonal: float
    steepness: float
    slope: float


def kernel_constants(kernel: kernels.AbstractKernel) -> KernelConstants:
    """The constants of one of the library's kernels, or of a sum of them."""
    if isinstance(kernel, kernels.GaussianKernel):
        return KernelConstants(1.0, kernel.scale**-2, math.exp(-0.5) / kernel.scale)
    if isinstance(kernel, kernels.InverseMultiquadric):
        # |k'| = u (1 + u²)^(-3/2) / s with u = r/s is largest at u² = 1/2.
        return KernelConstants(1.0, kernel.scale**-2, 2 / (3 * math.sqrt(3)) / kernel.scale)
    if isinstance(kernel, kernels.LaplaceKernel):
        return KernelConstants(1.0, math.inf, 1 / kernel.scale)
    if isinstance(kernel, kernels.SumKernel):
        each = [kernel_constants(part) for part in kernel.kernels]
        rows = [dataclasses.astuple(constants) for constants in each]
        sums = [
            sum(w * row[i] for w, row in zip(kernel.weights, rows, strict=True)) for i in range(3)
        ]
        return KernelConstants(*sums)
    raise ValueError(
        f"The constants of the kernel {type(kernel).__name__} are not known. The theory knows "
        "GaussianKernel, LaplaceKernel, InverseMultiquadric and SumKernel of these."
    )
