"""Cubic Hermite interpolation between the points of a fixed grid: fourth order, as RK4 itself."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


def hermite(
    s: Float[Array, " times"] | Float[Array, "batch times"],
    h: float,
    values: PyTree[Array],
    starts: PyTree[Array],
    ends: PyTree[Array],
) -> PyTree[Array]:
    """**Arguments:**

    - `s`: times in units of the step, from the start.
    - `h`: the step, negative when going back in time.
    - `values`: `(steps + 1, batch, ...)`, at the grid points.
    - `starts`, `ends`: `(steps, batch, ...)`, the derivatives at both ends of each step, taken from
        inside that step.
    """
    steps = jax.tree.leaves(starts)[0].shape[0]
    index = jnp.clip(jnp.floor(s).astype(int), 0, steps - 1)
    u = s - index.astype(s.dtype)
    weights = (
        (1 + 2 * u) * (1 - u) ** 2,
        u**2 * (3 - 2 * u),
        h * u * (1 - u) ** 2,
        h * u**2 * (u - 1),
    )

    def pick(a: Array, at: Array) -> Array:
        """`(times, batch, ...)`, or `(batch, times, ...)` if each sample has its own times."""
        return a[at] if at.ndim == 1 else a[at, jnp.arange(at.shape[0])[:, None]]

    def one(value: Array, start: Array, end: Array) -> Array:
        corners = (pick(value, index), pick(value, index + 1), pick(start, index), pick(end, index))
        terms = [
            w.reshape(w.shape + (1,) * (corner.ndim - w.ndim)).astype(corner.dtype) * corner
            for w, corner in zip(weights, corners, strict=True)
        ]
        return functools.reduce(jnp.add, terms)

    return jax.tree.map(one, values, starts, ends)
