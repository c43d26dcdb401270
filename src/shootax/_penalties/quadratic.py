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
    """A constant symmetric positive definite matrix and its inverse. Hashed by its values.

    !!! example

        ```python
        import numpy as np
        import shootax as sx

        matrix = sx.extend.SPDMatrix(np.diag([1.0, 2.0]))
        penalty = sx.Quadratic(A=matrix)  # an array does as well
        ```
    """

    def __init__(self, values: Any, name: str = "matrix"):
        """**Arguments:**

        - `values`: the matrix.
        - `name`: its name in error messages.
        """
        matrix = np.asarray(values)
        if matrix.dtype.kind not in "iuf":
            raise TypeError(
                f"The strength of {name} must hold numbers, got {checks.shown(values)}."
            )
        matrix = matrix.astype(np.float64)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"The strength of {name} must be a number or a square matrix, got shape "
                             f"{matrix.shape}.")  # fmt: skip
        checks.finite(matrix, f"The strength matrix of {name}")
        if not np.allclose(matrix, matrix.T, rtol=1e-6, atol=1e-8 * np.abs(matrix).max()):
            raise ValueError(
                f"The strength matrix of {name} must be symmetric, got entries that differ from their "
                f"mirror image by up to {np.abs(matrix - matrix.T).max():.3g}. Use (M + M.T) / 2."
            )
        lowest, *_, highest = (
            float(v) for v in (*np.linalg.eigvalsh(matrix), np.abs(matrix).max())
        )
        if lowest <= 1e-14 * highest:
            raise ValueError(
                f"The strength matrix of {name} must be positive definite, got smallest eigenvalue "
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


Strength = float | SPDMatrix


class Quadratic(AbstractPenalty):
    """$R(θ) = ½ Σ_k ⟨θ_k, M_k θ_k⟩$, with a number or an s.p.d. matrix $M_k$ for each entry of θ.

    A matrix acts on the leading axis of its entry: $½ \\mathrm{Tr}(A^⊤ M_A A)$ for a matrix $A$,
    $½ b^⊤ M_b b$ for a vector $b$.

    !!! example

        ```python
        import shootax as sx

        penalty = sx.Quadratic(theta3=10.0)  # every other strength is 1
        ```
    """

    default: float = eqx.field(static=True)
    strengths: tuple[tuple[str, Strength], ...] = eqx.field(static=True)

    def __init__(
        self, strengths: Mapping[str, Any] | None = None, *, default: float = 1.0, **named
    ):
        """**Arguments:**

        - `strengths`, `named`: the strength $M_k$ of each named entry of θ, a positive number or an
            s.p.d. matrix. Entries of a nested θ are named by their path, as in `"layer.0"`.
        - `default`: the strength of every entry that is not named.
        """
        if not (strengths is None or isinstance(strengths, Mapping)):
            raise TypeError(
                f"The strengths must be a mapping from entries of θ to numbers or matrices, got "
                f"{strengths!r}. For one strength of all entries use Quadratic(default=2.0), for one "
                "entry use its name, as in Quadratic(theta3=10.0)."
            )
        self.default = checks.positive_number(default, "default")
        self.strengths = tuple(
            (name, _strength(value, name)) for name, value in {**(strengths or {}), **named}.items()
        )

    def strength(self, name: str) -> Strength:
        """The strength of one entry of θ."""
        return dict(self.strengths).get(name, self.default)

    def __call__(self, theta: PyTree[Array]) -> Float[Array, ""]:
        weighted = self._apply(theta, lambda strength: strength, lambda matrix: matrix.values)
        products = jax.tree.map(lambda a, b: jnp.sum(a * b), theta, weighted)
        return 0.5 * jax.tree.reduce(jnp.add, products)

    def solve(self, gradient: PyTree[Array]) -> PyTree[Array]:
        """$M^{-1} g$: the maximiser of $⟨g, θ⟩ - R(θ)$."""
        return self._apply(gradient, lambda strength: 1 / strength, lambda matrix: matrix.inverse)

    def check(self, theta: PyTree[jax.ShapeDtypeStruct]) -> None:
        """Raise unless every named strength fits an entry of `theta`."""
        shapes = {entry_name(path): leaf.shape for path, leaf in jax.tree.leaves_with_path(theta)}
        for name, strength in self.strengths:
            if name not in shapes:
                raise ValueError(
                    f"The penalty has a strength for {name!r}, but θ has only: {', '.join(shapes)}."
                )
            if isinstance(strength, SPDMatrix) and shapes[name][:1] != strength.values.shape[:1]:
                raise ValueError(
                    f"The strength matrix of {name} has shape {strength.values.shape}, but {name} has "
                    f"shape {shapes[name]}: expected a square matrix of its leading axis."
                )

    def _apply(
        self,
        theta: PyTree[Array],
        number: Callable[[float], float],
        matrix: Callable[[SPDMatrix], np.ndarray],
    ) -> PyTree[Array]:
        def one(path: Any, leaf: Array) -> Array:
            strength = self.strength(entry_name(path))
            if isinstance(strength, SPDMatrix):
                return jnp.tensordot(jnp.asarray(matrix(strength), leaf.dtype), leaf, axes=1)
            return leaf * number(strength)

        return jax.tree.map_with_path(one, theta)


def _strength(value: Any, name: str) -> Strength:
    if isinstance(value, SPDMatrix):
        return value
    if np.ndim(value) == 0:
        return checks.positive_number(value, f"The strength of {name}")
    return SPDMatrix(value, name)
