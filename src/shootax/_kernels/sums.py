"""Sums of kernels."""

import equinox as eqx
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._kernels.base import AbstractKernel


class SumKernel(AbstractKernel):
    """$Σ_i c_i k_i(x, y)$ with positive factors, for instance with several scales at once.

    !!! example

        ```python
        import shootax as sx

        from shootax.kernels import GaussianKernel, SumKernel

        kernel = SumKernel(GaussianKernel(0.3), GaussianKernel(2.0), weights=(1.0, 0.1))
        ```
    """

    kernels: tuple[AbstractKernel, ...]
    weights: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, *kernels: AbstractKernel, weights: tuple[float, ...] | None = None):
        """**Arguments:**

        - `kernels`: one or more kernels.
        - `weights`: the factors $c_i$, by default all 1.
        """
        if not (weights is None or isinstance(weights, tuple | list)):
            raise TypeError(f"weights must be a tuple of numbers, got {checks.shown(weights)}.")
        for kernel in kernels:
            example = "SumKernel(GaussianKernel(), LaplaceKernel())"
            checks.instance(kernel, AbstractKernel, "Each term of a SumKernel", example)
        weights = (1.0,) * len(kernels) if weights is None else tuple(weights)
        if not kernels or len(weights) != len(kernels):
            raise ValueError(
                f"A sum needs at least one kernel and as many weights, got {len(kernels)} kernels "
                f"and {len(weights)} weights."
            )
        self.kernels = kernels
        self.weights = tuple(checks.positive_number(w, "The weight of a kernel") for w in weights)

    def __call__(self, x: Float[Array, " dim"], y: Float[Array, " dim"]) -> Float[Array, ""]:
        terms = [w * kernel(x, y) for w, kernel in zip(self.weights, self.kernels, strict=True)]
        return sum(terms[1:], terms[0])
