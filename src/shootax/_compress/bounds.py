"""A lower bound of the error with which $K$ particles can approximate given weights.

The weights that move one part of a block field are $M^{-1} p_a^⊤ φ(q)$: a matrix of rank at most $K$, up
to the scaling by $M$. So, at each time, the singular values of the given weights beyond the $K$-th are an
error that no ensemble can avoid (Eckart and Young). The same holds for the weights that act on one
feature.
"""

import numpy as np
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._penalties import Quadratic, SPDMatrix


def least_error(
    field: AbstractField,
    penalty: Quadratic,
    theta: PyTree[Array],
    weights: np.ndarray,
    particles: int,
) -> float:
    """A lower bound of the relative error of any ensemble with `particles` particles.

    **Arguments:**

    - `field`, `penalty`: the field and the penalty of the particles. The bound is 0 if the field does
        not consist of blocks, or a strength of the penalty is a matrix.
    - `theta`: the given weights, with a leading axis of times.
    - `weights`: quadrature weights of these times, in the error
        $Σ_i w_i R(θ_i - \\hat θ_i) / Σ_i w_i R(θ_i)$.
    - `particles`: the number of particles $K$.
    """
    matrices = any(isinstance(strength, SPDMatrix) for _, strength in penalty.strengths)
    table = field.as_blocks()
    if table is None or matrices:
        return 0.0
    scaled = {
        name: np.sqrt(float(penalty.strength(name))) * np.asarray(value, np.float64)  # pyright: ignore
        for name, value in theta.items()
    }
    blocks = table.layout.blocks
    total = sum(_energy(value, weights) for value in scaled.values())
    lost = []
    for side, axis in (("target", 2), ("feature", 1)):
        groups = {getattr(block, side) for block in blocks}
        tails = 0.0
        for group in groups:
            mine = [_matrix(scaled[b.name]) for b in blocks if getattr(b, side) == group]
            values = np.linalg.svd(np.concatenate(mine, axis=axis), compute_uv=False)
            tails += float(np.sum(weights[:, None] * values[:, particles:] ** 2))
        lost.append(tails)
    return float(np.sqrt(max(lost) / total)) if total else 0.0


def _matrix(value: np.ndarray) -> np.ndarray:
    """Convert a vector, which acts on the constant feature, to a column."""
    return value[..., None] if value.ndim == 2 else value


def _energy(value: np.ndarray, weights: np.ndarray) -> float:
    return float(np.sum(weights * np.sum(value.reshape(len(value), -1) ** 2, axis=1)))
