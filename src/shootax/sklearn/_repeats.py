"""A random effect for repeated inputs, which models the residuals that equal inputs have in common.

Samples with equal inputs have residuals $r_{gi} = e_g + ε_{gi}$ in group $g$, with the variance $τ^2$ of
the effects and $σ^2$ within groups. Products of two residuals of one group have the mean $τ^2$, and
squares $τ^2 + σ^2$, so both variances follow in closed form. The best linear prediction of an effect is
the mean residual of its group times $nτ^2/(nτ^2 + σ^2)$.

The net has equal outputs for equal inputs, so $σ^2$ does not depend on it. If the net has fitted noise in
its training data, $τ^2$ is smaller, so the effects are underestimated rather than overestimated.
"""

import base64
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shootax.sklearn._tables import Samples

LEAST_EVIDENCE = 3.0
"""The minimal variance of the effects in standard errors; below it, there are no effects."""
LEAST_SHARE = 0.01
"""The minimal share of the effects in the variance of the residuals; a smaller one is not worth it."""
MOST_AGREEMENT = 1 / 3
"""With more agreement, equal targets of equal inputs are copies of samples, not equal by chance."""
MOST_NUMBERS = 8_000_000
"""The maximal number of inputs × columns that a file can hold."""


class Repeats(NamedTuple):
    """The effects of repeated inputs.

    **Arguments:**

    - `inputs`: distinct scaled inputs, `(inputs, columns)`.
    - `effects`: the numbers to add to the scaled outputs at these inputs, `(inputs, outputs)`.
    - `single`: whether the inputs had single precision before they were scaled.
    """

    inputs: np.ndarray
    effects: np.ndarray
    single: bool = False

    def added(self, y: np.ndarray, X: np.ndarray, scaled: Callable) -> np.ndarray:
        """Add the effects of known inputs to scaled outputs; outputs for other inputs do not change.

        **Arguments:** `y`, the scaled outputs, `(samples, outputs)`; `X`, the raw inputs; `scaled`, the
        function that scales them.
        """
        if self.single:
            with np.errstate(over="ignore"):
                X = np.asarray(X, np.float32)
        known, keys = _keys(self.inputs), _keys(scaled(X))
        order = np.argsort(known)
        place = order[np.minimum(np.searchsorted(known, keys, sorter=order), len(known) - 1)]
        seen = known[place] == keys
        out = y.copy()
        out[seen] += self.effects[place[seen]]
        return out

    def to_json(self) -> dict[str, Any]:
        """Convert to JSON-serialisable values: for each column its distinct entries, and their codes."""
        if self.inputs.size > MOST_NUMBERS:
            raise ValueError(
                f"The model has {len(self.inputs)} repeated inputs with {self.inputs.shape[1]} columns, "
                "more than a file can hold. Fit with repeated_inputs=None."
            )
        columns = []
        for column in self.inputs.T:
            levels, codes = np.unique(column, return_inverse=True)
            codes = codes.reshape(-1).astype(_code_type(len(levels)))
            columns.append({"levels": _text(levels.astype("<f8")), "codes": _text(codes)})
        return {
            "count": len(self.inputs),
            "columns": columns,
            "effects": [_text(column.astype("<f8")) for column in self.effects.T],
            "single": self.single,
        }

    @classmethod
    def from_json(cls, tree: dict[str, Any], columns: int, outputs: int) -> "Repeats":
        """The inverse of `to_json`.

        **Arguments:** `columns` and `outputs`, the numbers of columns and outputs of the model.
        """
        inputs = []
        for column in tree["columns"]:
            levels = _array(column["levels"], np.dtype("<f8"))
            inputs.append(levels[_array(column["codes"], _code_type(len(levels)))])
        effects = [_array(column, np.dtype("<f8")) for column in tree["effects"]]
        found = cls(np.stack(inputs, 1), np.stack(effects, 1), bool(tree["single"]))
        count = tree["count"]
        shapes = (found.inputs.shape, found.effects.shape)
        if shapes != ((count, columns), (count, outputs)) or not count:
            raise ValueError("the effects of repeated inputs do not have the shape of the model")
        if not np.isfinite(found.effects).all():
            raise ValueError("the effects of repeated inputs are not finite")
        return found


class Estimate(NamedTuple):
    """The effects of repeated inputs, and their estimated variances.

    **Arguments:**

    - `repeats`: the inputs with their effects.
    - `left_out`: for each sample, the effect of its input as estimated from the other samples.
    - `between`, `within`: the variances $τ^2$ and $σ^2$ of each output.
    """

    repeats: Repeats
    left_out: np.ndarray
    between: np.ndarray
    within: np.ndarray


def any_repeated(x: np.ndarray) -> bool:
    """Whether neighbours in a sorted array of inputs are equal."""
    return bool((x[1:] == x[:-1]).all(axis=1).any())


def estimated(samples: Samples, residuals: np.ndarray, single: bool = False) -> Estimate | None:
    """Estimate the effects of repeated inputs, or return `None` if there is too little evidence.

    Each output has its own variances, and only outputs with evidence have effects.

    **Arguments:** `samples`, distinct samples, with their counts as weights; `residuals`, targets minus
    outputs of the net, `(samples, outputs)`; `single`, whether the raw inputs had single precision.
    """
    _, first, group = np.unique(_keys(samples.x), return_index=True, return_inverse=True)
    group = group.reshape(-1)

    def total(values: np.ndarray) -> np.ndarray:
        columns = values.reshape(len(values), -1).T
        return np.stack([np.bincount(group, c, len(first)) for c in columns], axis=1)

    weight, one = _observations(samples, group)
    own = weight * one
    """The product of a sample's weight with itself, summed over its copies."""
    n, squares = total(weight), total(own)
    sums = total(weight[:, None] * residuals)
    size = n**2 / squares
    repeated = size[:, 0] > 1 + 1e-9
    if not repeated.any():
        return None
    rows = size[repeated]
    ordinary = total(own[:, None] * residuals**2)
    share = rows / (n**2 - squares)[repeated]
    products = share * (sums**2 - ordinary)[repeated]
    power = rows * (total(weight[:, None] * residuals**2) / n)[repeated]
    between = products.sum(axis=0) / rows.sum()
    within = np.maximum(power.sum(axis=0) / rows.sum() - between, 0.0)
    # Without effects, products of different pairs are uncorrelated for every distribution.
    fourth = total((own * one**2)[:, None] * residuals**4)
    error = np.sqrt(np.sum(2 * share**2 * np.maximum(ordinary**2 - fourth, 0.0)[repeated], axis=0))
    evident = products.sum(axis=0) > LEAST_EVIDENCE * error
    evident &= between > LEAST_SHARE * (between + within)
    if not evident.any():
        return None
    between = np.where(evident, between, 0.0)

    def effects(n: np.ndarray, size: np.ndarray, sums: np.ndarray) -> np.ndarray:
        share = size * between / np.where(evident, size * between + within, 1.0)
        return np.where(size > 1 + 1e-9, share * sums / n, 0.0)

    inputs = samples.x[first[repeated]]
    found = Repeats(inputs, effects(n, size, sums)[repeated], single)
    rest = np.maximum(n[group] - one[:, None], 0.0)
    left = np.where(rest > 1e-9, rest, 1.0)
    others = np.maximum(squares[group] - one[:, None] ** 2, 1e-9)
    alone = np.where(rest > 1e-9, left**2 / others, 0.0)
    left_out = effects(left, alone, sums[group] - one[:, None] * residuals)
    return Estimate(found, left_out, between, within)


def _observations(samples: Samples, group: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The weights of distinct samples, and the weight of one observation of each.

    A sample of weight two counts as two observations with the same target, if the weights are counts
    and targets also agree between different inputs, as whole numbers do. If they agree much more often
    between equal inputs (by Cohen's kappa), samples were copied or weighted, and the copies carry no
    information.
    """
    weight, counts = samples.weight, np.rint(samples.weight)
    if np.allclose(weight, counts, rtol=1e-9, atol=0):
        n = np.bincount(group, counts)
        pairs = np.sum(n * (n - 1))
        _, value = np.unique(samples.y, axis=0, return_inverse=True)
        chance = np.sum((np.bincount(value.reshape(-1), counts) / counts.sum()) ** 2)
        agree = np.sum(counts * (counts - 1)) / max(pairs, 1.0)
        if agree - chance <= MOST_AGREEMENT * (1 - chance):
            return counts, np.ones_like(counts)
    return weight, weight


def _keys(x: np.ndarray) -> np.ndarray:
    """Each row as one item of bytes, for exact comparison; negative zero becomes positive."""
    x = np.ascontiguousarray(np.asarray(x, np.float64) + 0.0)
    return x.view(np.dtype((np.void, x.itemsize * x.shape[1]))).reshape(-1)


def _code_type(levels: int) -> np.dtype:
    return np.min_scalar_type(max(levels - 1, 0)).newbyteorder("<")


def _text(array: np.ndarray) -> str:
    return base64.b64encode(array.tobytes()).decode("ascii")


def _array(text: str, dtype: np.dtype) -> np.ndarray:
    array = np.frombuffer(base64.b64decode(text, validate=True), dtype)
    return array.astype(dtype.newbyteorder("="))
