"""The quadratic penalty."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from shootax import _checks as checks
from shootax._fields.base import entry_name
from shootax._penalties.base import AbstractPenalty


class SPDMatrix:
    """A constant symmetric positive definite matrix and its inverse. Hashed by its values."""

    def __init__(self, values: Any, name: str = "matrix"):
        matrix = np.asarray(values, dtype=np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"The weight of {name} must be a number or a square matrix, got shape "
                             f"{matrix.shape}.")  # fmt: skip
        checks.finite(matrix, f"The weight matrix of {name}")
        if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-8 * np.abs(matrix).max()):
            raise ValueError(
                f"The weight matrix of {name} must be symmetric, got entries that differ from their "
                f"mirror image by up to {np.abs(matrix - matrix.T).max():.3g}. Use (M + M.T) / 2."
            )
        lowest, *_, highest = (
            float(v) for v in (*np.linalg.eigvalsh(matrix), np.abs(matrix).max())
        )
        if lowest <= 1e-14 * highest:
            raise ValueError(
                f"The weight matrix of {name} must be positive definite, got smallest eigenvalue "
                f"{lowest:.3g}. Add a multiple of the identity to it."
            )
        self.values = (matrix + matrix.T) / 2
        self.inverse = np.linalg.inv(self.values)
        self._key = (matrix.shape, self.values.tobytes())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SPDMatrix) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"SPDMatrix({self.values.shape[0]}×{self.values.shape[0]})"


Weight = float | SPDMatrix


class Quadratic(AbstractPenalty):
    """$R(θ) = ½ Σ_k ⟨θ_k, M_k θ_k⟩$, with a number or an s.p.d. matrix $M_k$ for each entry of θ.

    A matrix acts on the leading axis of its entry: $½ \\mathrm{Tr}(A^⊤ M_A A)$ for a matrix $A$,
    $½ b^⊤ M_b b$ for a vector $b$.

    !!! example

        ```python
        import shootax as sx

        penalty = sx.Quadratic(theta3=10.0)  # every other weight is 1
        ```
    """

    default: float = eqx.field(static=True)
    weights: tuple[tuple[str, Weight], ...] = eqx.field(static=True)

    def __init__(self, weights: Mapping[str, Any] | None = None, *, default: float = 1.0, **named):
        """**Arguments:**

        - `weights`, `named`: the weight of each named entry of θ, a positive number or an s.p.d.
            matrix. Entries of a nested θ are named by their path, as in `"layer.0"`.
        - `default`: the weight of every entry that is not named.
        """
        self.default = checks.positive_number(default, "default")
        self.weights = tuple(
            (name, _weight(value, name)) for name, value in {**(weights or {}), **named}.items()
        )

    def weight(self, name: str) -> Weight:
        """The weight of one entry of θ."""
        return dict(self.weights).get(name, self.default)

    def __call__(self, theta: PyTree[Array]) -> Float[Array, ""]:
        weighted = self._apply(theta, lambda weight: weight, lambda matrix: matrix.values)
        products = jax.tree.map(lambda a, b: jnp.sum(a * b), theta, weighted)
        return 0.5 * jax.tree.reduce(jnp.add, products)

    def solve(self, gradient: PyTree[Array]) -> PyTree[Array]:
        """$M^{-1} g$: the maximiser of $⟨g, θ⟩ - R(θ)$."""
        return self._apply(gradient, lambda weight: 1 / weight, lambda matrix: matrix.inverse)

    def check(self, theta: PyTree[jax.ShapeDtypeStruct]) -> None:
        """Raises unless every named weight fits an entry of `theta`."""
        shapes = {entry_name(path): leaf.shape for path, leaf in jax.tree.leaves_with_path(theta)}
        for name, weight in self.weights:
            if name not in shapes:
                raise ValueError(
                    f"The penalty has a weight for {name!r}, but θ has only: {', '.join(shapes)}."
                )
            if isinstance(weight, SPDMatrix) and shapes[name][:1] != weight.values.shape[:1]:
                raise ValueError(
                    f"The weight matrix of {name} has shape {weight.values.shape}, but {name} has "
                    f"shape {shapes[name]}: expected a square matrix of its leading axis."
                )

    def _apply(
        self,
        theta: PyTree[Array],
        number: Callable[[float], float],
        matrix: Callable[[SPDMatrix], np.ndarray],
    ) -> PyTree[Array]:
        def one(path: Any, leaf: Array) -> Array:
            weight = self.weight(entry_name(path))
            if isinstance(weight, SPDMatrix):
                return jnp.tensordot(jnp.asarray(matrix(weight), leaf.dtype), leaf, axes=1)
            return leaf * number(weight)

        return jax.tree.map_with_path(one, theta)


def _weight(value: Any, name: str) -> Weight:
    if isinstance(value, SPDMatrix):
        return value
    if np.ndim(value) == 0:
        return checks.positive_number(value, f"The weight of {name}")
    return SPDMatrix(value, name)
