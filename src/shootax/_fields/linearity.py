"""Whether a field is linear in its weights, determined by evaluating it.

This alone decides how $θ^* ∈ \\arg\\max H$ is found: by one linear solve if $f(z, θ) = L_z θ$, or
$L_z θ + g(z)$ with a drift $g$, and by an inner maximisation otherwise.
"""

import logging

import numpy as np

from shootax import _checks as checks
from shootax._fields.base import AbstractField, Linearity, size
from shootax._fields.host import run
from shootax._fields.probing import Sampler, draw, flat, samplers
from shootax._fields.programs import traced
from shootax._jaxpr import ClosedJaxpr

logger = logging.getLogger("shootax")


def linearity(field: AbstractField, *, tolerance: float = 1e-3) -> Linearity:
    """How $f(z, θ)$ depends on θ: `"linear"`, `"affine"` (linear plus a drift that is free of θ) or
    `"nonlinear"`.

    A field may declare it (`known_linearity`). Otherwise the finite values of `f` at random points
    decide. A field that is not finite at any of these points counts as nonlinear, and the logger
    `"shootax"` says so.

    **Arguments:**

    - `field`: the field.
    - `tolerance`: the relative difference up to which two values count as equal.

    !!! example

        ```python
        import shootax as sx

        print(sx.linearity(sx.UpDown(dim=2)))  # linear
        ```
    """
    checks.instance(field, AbstractField, "field", "linearity(UpDown(dim=2))")
    tolerance = checks.positive_number(tolerance, "tolerance")
    if field.known_linearity is not None:
        return field.known_linearity
    straight, drift = gaps(field)
    if straight <= tolerance and drift <= tolerance:
        return "linear"
    if straight <= tolerance and np.isfinite(drift):
        return "affine"
    if not (np.isfinite(straight) and np.isfinite(drift)):
        logger.warning(
            "Some velocities of %s, or of f(z, 0), are NaN or infinite at all of the random points "
            "where it was tried, so it is treated as nonlinear in θ. Make f finite for numbers in "
            "(0, 1) if it is linear.",
            type(field).__name__,
        )
    return "nonlinear"


def is_linear(field: AbstractField, *, tolerance: float = 1e-3) -> bool:
    """Whether $f(z, θ)$ is linear in θ, without a drift.

    **Arguments:** `field`, `tolerance`: as in [`shootax.linearity`][].

    !!! example

        ```python
        import shootax as sx

        print(sx.extend.is_linear(sx.Affine(dim=2)))  # True
        ```
    """
    return linearity(field, tolerance=tolerance) == "linear"


def assert_linear(field: AbstractField, *, tolerance: float = 1e-3) -> None:
    """Raise a `ValueError` unless $f(z, θ)$ is linear in θ, so that θ* has a closed form.

    **Arguments:** `field`, `tolerance`: as in [`shootax.linearity`][].

    !!! example

        ```python
        import shootax as sx

        sx.extend.assert_linear(sx.Affine(dim=2))
        ```
    """
    found = linearity(field, tolerance=tolerance)
    if found == "linear":
        return
    name = type(field).__name__
    straight, drift = gaps(field)
    if found == "affine":
        raise ValueError(
            f"{name} is not linear in θ: f(z, 0) is not zero (relative size {drift:.2g}). It is "
            "affine, which shooting handles just as well; subtract the drift to make it linear."
        )
    if not (np.isfinite(straight) and np.isfinite(drift)):
        raise ValueError(
            f"{name} could not be shown to be linear in θ: some of its velocities, or of f(z, 0), are "
            "NaN or infinite at all of the random points where it was tried. Make f finite for "
            "numbers in (0, 1), or leave the maximiser out."
        )
    raise ValueError(
        f"{name} is not linear in θ: f(z, λa + (1 - λ)b) differs from λf(z, a) + (1 - λ)f(z, b) by "
        f"{straight:.2g} of its size. Multiply each weight with functions of z alone, or let an "
        "inner maximiser find θ* (Particles(..., maximiser=Newton()))."
    )


def gaps(field: AbstractField, points: int = 4) -> tuple[float, float]:
    """How far `f` is from affine in θ, and $f(z, 0)$ from zero, both relative to the size of `f`.

    Each entry of the velocity is compared at points at which it is finite. If it has no such point, the
    result is `inf`.
    """
    program = traced(field)
    rng = np.random.default_rng(0)
    straight = drift = 0.0
    compared, grounded = np.zeros((2, size(field.state)), int)  # how often, entry by entry
    for sample in samplers(points, 2):
        gap, rest, finite, finite_rest = _gaps_at(field, program, sample, rng)
        straight, drift = max(straight, gap), max(drift, rest)
        compared, grounded = compared + finite, grounded + finite_rest
        if min(compared.min(initial=points), grounded.min(initial=points)) >= points:
            break
    return straight if compared.all() else np.inf, drift if grounded.all() else np.inf


def _gaps_at(
    field: AbstractField, program: ClosedJaxpr, sample: Sampler, rng: np.random.Generator
) -> tuple[float, float, np.ndarray, np.ndarray]:
    """The gaps at one point, and which entries were finite: in the comparison, and in $f(z, 0)$."""
    z, first, second = (draw(tree, sample, rng) for tree in (field.state, *(field.theta,) * 2))

    def velocity(theta: list[np.ndarray]) -> np.ndarray:
        return flat(run(program, [*z, *theta]))

    at_first, at_second = velocity(first), velocity(second)
    nothing = velocity([0 * leaf for leaf in first])
    scale = 1e-30 + sum(_largest(values) for values in (at_first, at_second, nothing))
    gap, finite = 0.0, np.zeros(nothing.shape, bool)
    # Affine combinations, so a drift does not show; the second stays between the points, where a
    # function of θ that is not defined everywhere is more likely to be.
    for share in (3.0, 0.25):
        between = [share * a + (1 - share) * b for a, b in zip(first, second, strict=True)]
        with np.errstate(invalid="ignore"):
            off = velocity(between) - (share * at_first + (1 - share) * at_second)
        gap = max(gap, _largest(off) / scale)
        finite |= np.isfinite(off)
    return gap, _largest(nothing) / scale, finite, np.isfinite(nothing)


def _largest(values: np.ndarray) -> float:
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
