"""Closed-form bounds that only depend on the length of the path of fields.

With $‖f(·, θ(t))‖ ≤ B(t)$ in the RKHS of the field and $A = ∫ B\\, dt$, all bounds follow from two
constants of the field: a bound of its kernel, and a Lipschitz constant.
"""

import dataclasses
import math
from collections.abc import Sequence


@dataclasses.dataclass(frozen=True)
class Growth:
    """$λ_{\\max}(k(z, z)) ≤ c_0 + c_1 |z|^2$ for every state $z$."""

    c0: float
    c1: float

    def kernel(self, radius: float) -> float:
        """The bound on the kernel in the ball of this radius."""
        return self.c0 + self.c1 * radius**2

    def radius(self, start: float, length: float) -> float:
        """The largest possible norm of a state whose initial norm is at most `start`.

        As $|f(z)| ≤ ‖f‖ \\sqrt{λ_{\\max}(k(z, z))}$, it is the solution of
        $r' = B \\sqrt{c_0 + c_1 r^2}$, namely
        $r = \\sqrt{c_0/c_1} \\sinh(\\sqrt{c_1} A + \\operatorname{asinh}(r_0 \\sqrt{c_1/c_0}))$.
        """
        if self.c1 == 0:
            return start + math.sqrt(self.c0) * length
        if self.c0 == 0:
            return start * _exp(math.sqrt(self.c1) * length)
        ratio = math.sqrt(self.c0 / self.c1)
        angle = math.sqrt(self.c1) * length + math.asinh(start / ratio)
        return ratio * math.sinh(angle) if angle < 700 else math.inf


def reached(growths: Sequence[Growth], start: float, length: float) -> float:
    """The smallest of the radii that several valid bounds of the kernel give."""
    return min(growth.radius(start, length) for growth in growths)


def largest_kernel(growths: Sequence[Growth], radius: float) -> float:
    """The smallest of several valid bounds of the kernel on a ball."""
    return min(growth.kernel(radius) for growth in growths)


def lipschitz_of_flow(integral: float) -> float:
    """Grönwall: $\\exp ∫ L\\, dt$, for the flow and for its inverse."""
    return _exp(integral)


def _exp(x: float) -> float:
    return math.exp(x) if x < 700 else math.inf
