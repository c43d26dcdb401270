"""Whether a field is linear in its weights, found out by trying it.

Only that decides how $θ^* ∈ \\arg\\max H$ is solved: by one linear solve where $f(z, θ) = L_z θ$, or
$L_z θ + g(z)$ with a drift $g$, and by an inner maximisation otherwise.
"""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from shootax.fields import AbstractBlockField, AbstractConvField, AbstractField

Linearity = Literal["linear", "affine", "nonlinear"]


def linearity(field: AbstractField, *, tolerance: float = 1e-3) -> Linearity:
    """How $f(z, θ)$ depends on θ: `"linear"`, `"affine"` (linear and a drift that is free of θ) or
    `"nonlinear"`, by comparing values at random points.

    !!! example

        ```python
        import shootax as sx

        print(sx.linearity(sx.UpDown(dim=2)))  # linear
        ```
    """
    if isinstance(field, AbstractBlockField):
        return "affine" if field.layout.damping else "linear"
    if isinstance(field, AbstractConvField):
        return "linear"
    straight, drift = gaps(field)
    if straight > tolerance:
        return "nonlinear"
    return "affine" if drift > tolerance else "linear"


def is_linear(field: AbstractField, *, tolerance: float = 1e-3) -> bool:
    """Whether $f(z, θ)$ is linear in θ, without a drift."""
    return linearity(field, tolerance=tolerance) == "linear"


def assert_linear(field: AbstractField, *, tolerance: float = 1e-3) -> None:
    """Raises unless $f(z, θ)$ is linear in θ, so that θ* has a closed form."""
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
    raise ValueError(
        f"{name} is not linear in θ: f(z, 2a - 3b) differs from 2f(z, a) - 3f(z, b) by "
        f"{straight:.2g} of its size. Multiply each weight with functions of z alone, or let an "
        "inner maximiser find θ* (Particles(..., maximiser=Newton()))."
    )


def gaps(field: AbstractField, points: int = 4) -> tuple[float, float]:
    """By how much, relative to its size, `f` fails to be affine, and by how much $f(z, 0) ≠ 0$."""
    with jax.ensure_compile_time_eval():
        straight, drift = zip(*(_gaps_at(field, seed) for seed in range(points)), strict=True)
        return max(map(float, straight)), max(map(float, drift))


def _gaps_at(field: AbstractField, seed: int) -> tuple[jax.Array, jax.Array]:
    keys = iter(jax.random.split(jax.random.key(seed), 300))

    def draw(template: PyTree) -> PyTree:
        return jax.tree.map(lambda leaf: jax.random.normal(next(keys), leaf.shape), template)

    z, first, second = draw(field.state), draw(field.theta), draw(field.theta)
    # An affine combination, so a drift does not show here.
    mixed = field(z, jax.tree.map(lambda a, b: 3 * a - 2 * b, first, second))
    parts = jax.tree.map(lambda a, b: 3 * a - 2 * b, field(z, first), field(z, second))
    nothing = field(z, jax.tree.map(jnp.zeros_like, first))
    size = 1e-30 + _largest(parts) + _largest(field(z, first)) + _largest(nothing)
    return _largest(jax.tree.map(jnp.subtract, mixed, parts)) / size, _largest(nothing) / size


def _largest(tree: PyTree) -> jax.Array:
    peaks = [jnp.max(jnp.abs(leaf), initial=0.0) for leaf in jax.tree.leaves(tree)]
    return jnp.max(jnp.stack(peaks))
