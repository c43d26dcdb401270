"""Two classes in the plane: a disc and a ring around it."""

import numpy as np

from shootax import _checks as checks

INNER, OUTER = (0.0, 0.5), (1.0, 1.5)


def annuli(inner: int = 1000, outer: int = 2000, *, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw points uniformly from a disc and a ring around it.

    The disc has radius 0.5 (class 0), and the ring has radii from 1 to 1.5 (class 1).

    **Arguments:**

    - `inner`, `outer`: the numbers of points in the disc and in the ring.
    - `seed`: the random seed.

    !!! example

        ```python
        from shootax.data import annuli

        x, y = annuli(10, 20, seed=0)
        print(x.shape, y.sum())  # (30, 2) 20
        ```
    """
    generator = np.random.default_rng(checks.seed(seed))
    parts = []
    for samples, (low, high) in ((inner, INNER), (outer, OUTER)):
        samples = checks.positive_integer(samples, "The number of points")
        radius = np.sqrt(generator.uniform(low**2, high**2, samples))
        angle = generator.uniform(0, 2 * np.pi, samples)
        parts.append(radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1))
    return np.concatenate(parts), np.repeat([0, 1], [inner, outer])
