"""The blocks of a field with the constants that bound them."""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

import shootax as sx
from shootax.extend import Layout
from shootax.theory._activations import ActivationBounds, Activations, activation_bounds
from shootax.theory._bounds import Growth
from shootax.theory._model import smallest_strength

SPLITS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
"""The values of $τ$ to try in $(a + b)^2 ≤ (1 + τ) a^2 + (1 + 1/τ) b^2$. Each of them gives a bound."""


@dataclasses.dataclass(frozen=True)
class Term:
    """One entry of θ, acting on $σ$ of the part `source`, or a bias if there is none.

    As an operator on states, it has norm at most $\\sqrt{\\mathrm{gain}}\\,\\|θ_k\\|_F$. `gain` is 1 for
    a matrix, the size of the window for a convolution, and the number of pixels for its bias. `row` is
    the number of weights that act on one velocity.
    """

    name: str
    target: str
    source: str | None
    function: Any
    activation: ActivationBounds
    strength: float
    gain: float
    source_size: int
    space: int
    row: int

    def norms(self, theta: Array, steep: np.ndarray | None = None) -> np.ndarray:
        """Bounds on the operator norm, `(steps, 3)`. `steep` scales the entries of the source."""
        values = np.asarray(theta)
        if self.source is None:
            return math.sqrt(self.gain) * np.linalg.norm(values, axis=-1)
        if self.space:
            size = np.stack([convolution_norm(each, self.space) for each in values])
            return size if steep is None else size * steep.max(axis=1)[:, None]
        if steep is not None:
            values = values * steep[:, None, None, :]
        return np.linalg.norm(values, 2, axis=(-2, -1))


FREQUENCIES = 8
"""The smallest number of points in each direction at which the symbol of a convolution is evaluated."""


def convolution_norm(filters: np.ndarray, space: int) -> np.ndarray:
    """Bounds on the operator norms of convolutions `(..., out, in, *window)` with zero padding.

    Such a convolution is the restriction of a convolution on the infinite grid, whose norm is the largest
    norm of its symbol $\\hat θ(ω)$. The symbol is a trigonometric polynomial whose degree $n$ is half the
    window in each direction. Its maximum is therefore at most the maximum over $N$ points, divided by
    $\\cos(πn/N)$ for each direction.
    """
    window = filters.shape[-1]
    points, degree = max(FREQUENCIES, 4 * window), window // 2
    axes = tuple(range(-space, 0))
    symbol = np.fft.fftn(filters, s=(points,) * space, axes=axes)
    matrices = np.moveaxis(symbol.reshape(*symbol.shape[:-space], -1), -1, 0)
    largest = np.linalg.norm(matrices, 2, axis=(-2, -1)).max(axis=0)
    return largest / math.cos(math.pi * degree / points) ** space


@dataclasses.dataclass(frozen=True)
class BlockTable:
    """All terms of a field, and the slices of its parts in the flattened state."""

    parts: dict[str, slice]
    channels: dict[str, int]
    terms: tuple[Term, ...]
    weights: int

    def index(self, part: str) -> int:
        return list(self.parts).index(part)

    def growths(self, parts: Sequence[str]) -> Iterator[Growth]:
        """Bounds $c_0 + c_1|z|^2$ on the kernel of some parts, for each split, and for bounded σ too."""
        rows = [self.index(part) for part in parts]
        for bounded, split in itertools.product((False, True), SPLITS):
            constant, square = self._growth(bounded, split)
            yield Growth(float(constant[rows].max()), float(square[rows].max()))

    def _growth(self, bounded: bool, split: float) -> tuple[np.ndarray, np.ndarray]:
        """For each part $a$, $c_a$ and the factors of $|z_b|^2$."""
        constant = np.zeros(len(self.parts))
        square = np.zeros((len(self.parts),) * 2)
        for term in self.terms:
            a, factor = self.index(term.target), term.gain / term.strength
            if term.source is None:
                constant[a] += factor
                continue
            sigma, b = term.activation, self.index(term.source)
            if bounded and math.isfinite(sigma.sup):
                constant[a] += factor * term.source_size * sigma.sup**2
                continue
            first, second = (1 + split, 1 + 1 / split) if sigma.offset and sigma.slope else (1, 1)
            constant[a] += factor * first * term.source_size * sigma.offset**2
            square[a, b] += factor * second * sigma.slope**2
        return constant, square


def block_table(
    field: sx.AbstractField,
    layout: Layout,
    penalty: sx.Quadratic,
    state: tuple[int, ...],
    activations: Activations,
) -> BlockTable:
    """The terms of a field whose states have the shape `state`: `(size,)` or `(channels, *space)`."""
    features = {feature.name: feature for feature in layout.features}
    places = math.prod(state[1:])
    space = field.free_axes
    window = field.window**space if space else 1  # pyright: ignore[reportAttributeAccessIssue]
    terms = []
    for block in layout.blocks:
        feature = features[block.feature]
        bias = feature.part is None
        channels = 1 if feature.part is None else layout.parts[feature.part]
        terms.append(
            Term(
                name=block.name,
                target=block.target,
                source=feature.part,
                function=feature.function,
                activation=NOTHING if bias else activation_bounds(feature.function, activations),
                strength=smallest_strength(penalty, block.name),
                gain=float(places if bias else window),
                source_size=1 if bias else channels * places,
                space=space,
                row=1 if bias else channels * window,
            )
        )
    parts = {
        name: slice(part.start * places, part.stop * places)
        for name, part in layout.part_slices().items()
    }
    weights = sum(leaf.size for leaf in jax.tree.leaves(field.theta))
    return BlockTable(parts, dict(layout.parts), tuple(terms), weights)


NOTHING = ActivationBounds(0.0)
"""The bounds of a bias, which does not depend on the state."""
