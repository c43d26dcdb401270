"""The paper's spiral $\\dot x = A x^3$, and snippets of it."""

import functools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from shootax import AbstractSampler
from shootax import _checks as checks

A = np.array([[-0.1, 2.0], [-2.0, -0.1]])
START = np.array([2.0, 0.0])
T = 10.0


class Spiral(NamedTuple):
    """A trajectory at equally spaced times; see [`shootax.data.spiral`][].

    **Arguments:**

    - `times`: the times.
    - `x`: the points at these times.
    - `length`: the arc length up to each point.
    """

    times: Float[np.ndarray, " points"]
    x: Float[np.ndarray, "points 2"]
    length: Float[np.ndarray, " points"]


def velocity(x: np.ndarray) -> np.ndarray:
    """Compute $A x^3$ for a batch of states. The first row of `A` multiplies the first component."""
    return x**3 @ A


def spiral(points: int = 200) -> Spiral:
    """Compute the trajectory from (2, 0) for $0 ≤ t ≤ 10$, with an error of about 1e-11.

    **Arguments:** `points`: the number of equally spaced times.

    !!! example

        ```python
        from shootax.data import spiral

        curve = spiral()
        print(curve.x.shape)  # (200, 2)
        ```
    """
    return _solved(checks.positive_integer(points, "points"))


@functools.cache
def _solved(points: int) -> Spiral:
    from scipy.integrate import solve_ivp

    times = np.linspace(0, T, points)

    def rate(t: float, state: np.ndarray) -> np.ndarray:
        moved = velocity(state[:2])
        return np.append(moved, np.linalg.norm(moved))

    start = np.append(START, 0.0)
    solved = solve_ivp(rate, (0, T), start, "DOP853", times, rtol=3e-14, atol=1e-14)
    return Spiral(times, solved.y[:2].T, solved.y[2])


def snippets(curve: Spiral, first: Array, points: int) -> tuple[Array, Array]:
    """Cut short snippets out of a trajectory.

    **Arguments:**

    - `curve`: the trajectory.
    - `first`: the index of the first point of each snippet.
    - `points`: the number of points of a snippet.

    **Returns:** the starts `(batch, 2)` and the snippets `(batch, points, 2)`.

    !!! example

        ```python
        import numpy as np
        from shootax.data import snippets, spiral

        starts, pieces = snippets(spiral(), np.array([0, 10, 20]), points=5)
        print(pieces.shape)  # (3, 5, 2)
        ```
    """
    index = jnp.asarray(first, int)[:, None] + jnp.arange(points)[None]
    pieces = jnp.asarray(curve.x, jnp.result_type(float))[index]
    return pieces[:, 0], pieces


class SpiralSnippets(AbstractSampler):
    """A sampler of snippets of the spiral, with starts drawn uniformly by arc length.

    !!! example

        ```python
        import jax
        from shootax.data import SpiralSnippets, spiral

        starts, pieces = SpiralSnippets(spiral(), samples=20)(jax.random.key(0))
        print(pieces.shape)  # (20, 5, 2)
        ```
    """

    curve: Spiral
    samples: int
    points: int

    def __init__(self, curve: Spiral, samples: int = 100, points: int = 5):
        """**Arguments:**

        - `curve`: the trajectory, from [`shootax.data.spiral`][].
        - `samples`: the number of snippets per epoch.
        - `points`: the number of points of a snippet.
        """
        checks.instance(curve, Spiral, "curve", "SpiralSnippets(spiral())")
        self.curve = curve
        self.samples = checks.positive_integer(samples, "samples")
        self.points = checks.positive_integer(points, "points")
        if points > len(curve.times):
            raise ValueError(
                f"A snippet of {points} points is longer than the curve, which has "
                f"{len(curve.times)} points. Use fewer points, or a curve with more, as in "
                "spiral(points=...)."
            )

    def __call__(self, key: PRNGKeyArray) -> tuple[Array, Array]:
        # An arc length between two points of the curve gives a snippet that starts at the first.
        last = len(self.curve.times) - self.points
        ends = jnp.asarray(self.curve.length[1 : last + 2], jnp.result_type(float))
        where = jax.random.uniform(key, (self.samples,), maxval=ends[-1])
        first = jnp.minimum(jnp.searchsorted(ends, where, side="right"), last)
        return snippets(self.curve, first, self.points)
