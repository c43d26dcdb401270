"""The constants of a field that the theory needs: of its kernel, its growth and its steepness."""

import abc
import dataclasses
import math
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, PyTree

import shootax as sx
from shootax.theory._activations import Activations
from shootax.theory._bounds import Growth
from shootax.theory._kernels import kernel_constants
from shootax.theory._table import BlockTable, block_table


@dataclasses.dataclass(frozen=True)
class Rates:
    """Constants of each step of the path: $|f_a(z)| ≤ Σ_b N_{ab} |z_b| + c_a$ for the parts $a, b$.

    There are several variants, all of which are valid. `slopes` has the shape
    `(variants, steps, parts, parts)`, and `offsets` the shape `(variants, steps, parts)`.
    """

    slopes: np.ndarray
    offsets: np.ndarray


class FieldBounds(abc.ABC):
    """Constants of a field that is linear in θ, with the norm $‖f‖^2 = 2R$."""

    parts: dict[str, slice]
    """The slice of each part in the flattened state."""

    weights: float
    """The dimension of the space of fields; infinite for an RKHS with a kernel."""

    steepness: float
    """The number $c$ with $\\operatorname{Lip}(f) ≤ ‖f‖ \\sqrt c$."""

    channels: dict[str, int]
    """For each part, the number of velocities that do not share weights."""

    row_weights: dict[str, float]
    """For each part, the number of weights that act on one velocity."""

    growths: tuple[Growth, ...]
    """Bounds on the kernel on the diagonal, all of which are valid."""

    @abc.abstractmethod
    def growths_of(self, parts: Sequence[str]) -> tuple[Growth, ...]:
        """Bounds as in `growths`, for the kernel of some parts only."""

    @abc.abstractmethod
    def rates(self, theta: PyTree[Array], norm: np.ndarray) -> Rates:
        """Constants along a path `(steps, 3, ...)` of weights with norms `norm` `(steps,)`."""

    @abc.abstractmethod
    def lipschitz(
        self, theta: PyTree[Array], norm: np.ndarray, low: np.ndarray, high: np.ndarray
    ) -> np.ndarray:
        """$\\operatorname{Lip}(f(·, θ))$ in each step, on the box `(steps, state)` of that step."""

    @abc.abstractmethod
    def kernel_on(self, low: np.ndarray, high: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """$\\sup λ_{\\max}(k_a(z, z))$ for each part $a$ over boxes `(boxes, state)`, in which the norms
        of the parts are at most `radii`, `(boxes, parts)`."""

    @abc.abstractmethod
    def kernel_at(self, z: np.ndarray) -> np.ndarray:
        """$λ_{\\max}(k_a(z, z))$ at states `(states, state)`, for each part $a$."""


class BlockBounds(FieldBounds):
    """Fields made of blocks, dense or convolutional."""

    def __init__(self, table: BlockTable):
        self.table = table
        self.parts = table.parts
        self.weights = float(table.weights)
        slopes = np.zeros((len(self.parts),) * 2)
        for term in table.terms:
            if term.source is not None:
                at = table.index(term.target), table.index(term.source)
                slopes[at] += term.gain * term.activation.lipschitz**2 / term.strength
        self.steepness = float(slopes.max())
        self.growths = self.growths_of(list(table.parts))
        self.channels = table.channels
        self.row_weights = {
            part: float(sum(term.row for term in table.terms if term.target == part))
            for part in table.parts
        }

    def growths_of(self, parts: Sequence[str]) -> tuple[Growth, ...]:
        return tuple(self.table.growths(parts))

    def rates(self, theta: PyTree[Array], norm: np.ndarray) -> Rates:
        table, steps, count = self.table, len(norm), len(self.parts)
        slopes, offsets = np.zeros((2, steps, count, count)), np.zeros((2, steps, count))
        for term in table.terms:
            size = term.norms(theta[term.name]).max(axis=1)
            a = table.index(term.target)
            if term.source is None:
                offsets[:, :, a] += size
                continue
            sigma, b = term.activation, table.index(term.source)
            root = math.sqrt(term.source_size)
            slopes[0, :, a, b] += size * sigma.slope
            offsets[0, :, a] += size * sigma.offset * root
            if math.isfinite(sigma.sup):  # the second variant uses that σ is bounded
                offsets[1, :, a] += size * sigma.sup * root
            else:
                slopes[1, :, a, b] += size * sigma.slope
                offsets[1, :, a] += size * sigma.offset * root
        return Rates(slopes, offsets)

    def lipschitz(self, theta, norm, low, high) -> np.ndarray:
        table, count = self.table, len(self.parts)
        matrix = np.zeros((len(norm), 3, count, count))
        for term in table.terms:
            if term.source is not None:
                rows = self.parts[term.source]
                _, steep = term.activation.on(low[:, rows], high[:, rows])
                a, b = table.index(term.target), table.index(term.source)
                matrix[:, :, a, b] += term.norms(theta[term.name], steep)
        return np.linalg.norm(matrix, 2, axis=(-2, -1)).max(axis=1)

    def kernel_on(self, low: np.ndarray, high: np.ndarray, radii: np.ndarray) -> np.ndarray:
        out = np.zeros((len(low), len(self.parts)))
        for term in self.table.terms:
            square = np.ones(len(low))
            if term.source is not None:
                rows = self.parts[term.source]
                sigma, radius = term.activation, radii[:, self.table.index(term.source)]
                sup, _ = sigma.on(low[:, rows], high[:, rows])
                whole = sigma.offset * math.sqrt(term.source_size) + sigma.slope * radius
                square = np.minimum(np.sum(sup**2, axis=1), whole**2)
            out[:, self.table.index(term.target)] += term.gain * square / term.strength
        return out

    def kernel_at(self, z: np.ndarray) -> np.ndarray:
        out = np.zeros((len(z), len(self.parts)))
        for term in self.table.terms:
            square = np.ones(len(z))
            if term.source is not None:
                values: Any = term.function(jax.numpy.asarray(z[:, self.parts[term.source]]))
                square = np.sum(np.asarray(values) ** 2, axis=1)
            out[:, self.table.index(term.target)] += term.gain * square / term.strength
        return out


class KernelBounds(FieldBounds):
    """Fields $f = Σ_j k(·, q_j) p_j$ of an RKHS with one of the library's kernels."""

    def __init__(self, field: sx.RKHS):
        self.constants = kernel_constants(field.kernel)
        self.parts = {"x": slice(0, field.dim)}
        self.weights = math.inf
        self.steepness = self.constants.steepness
        self.growths = (Growth(self.constants.diagonal, 0.0),)
        self.channels, self.row_weights = {"x": field.dim}, {"x": math.inf}

    def growths_of(self, parts: Sequence[str]) -> tuple[Growth, ...]:
        return self.growths

    def rates(self, theta: PyTree[Array], norm: np.ndarray) -> Rates:
        speed = norm * math.sqrt(self.constants.diagonal)
        return Rates(np.zeros((1, len(norm), 1, 1)), speed[None, :, None])

    def lipschitz(self, theta, norm, low, high) -> np.ndarray:
        momenta = np.linalg.norm(np.asarray(theta["p"]), axis=-1).sum(axis=-1).max(axis=1)
        by_norm = np.where(norm > 0, norm, 1.0) * math.sqrt(self.steepness)
        return np.where(norm > 0, np.minimum(momenta * self.constants.slope, by_norm), 0.0)

    def kernel_on(self, low: np.ndarray, high: np.ndarray, radii: np.ndarray) -> np.ndarray:
        return np.full((len(low), 1), self.constants.diagonal)

    def kernel_at(self, z: np.ndarray) -> np.ndarray:
        return np.full((len(z), 1), self.constants.diagonal)


def field_bounds(net: sx.Net, state: tuple[int, ...], activations: Activations) -> FieldBounds:
    """The constants of the field of a net with states of shape `state`."""
    field, penalty = net.field, net.control.penalty
    if isinstance(field, sx.RKHS):
        return KernelBounds(field)
    layout = field.layout
    if layout is None:
        raise ValueError(_unknown(field))
    if layout.damping:
        raise ValueError(
            f"{type(field).__name__} has damping, a drift that does not depend on θ. The norm of its "
            "field is then neither conserved nor bounded by R, so the theory does not apply. Use a "
            "field that is linear in θ, such as UpDown."
        )
    if not isinstance(penalty, sx.Quadratic):
        raise ValueError(
            f"The theory needs a quadratic penalty, whose value is half the squared norm of the "
            f"field, got {type(penalty).__name__}. Use shootax.Quadratic()."
        )
    return BlockBounds(block_table(field, layout, penalty, state, activations))


def _unknown(field: sx.AbstractField) -> str:
    name = type(field).__name__
    if isinstance(field, sx.SingleHiddenLayer) or sx.linearity(field) != "linear":
        return (
            f"{name} is not linear in θ. The theory needs a field f(z, θ) that is linear in θ, with a "
            "quadratic penalty. Then 2R is the squared norm of the field, and it is conserved. Use "
            "UpDown, Affine, a convolution, an RKHS or another field made of blocks."
        )
    return (
        f"{name} is linear in θ, but the growth of its velocities with the state is not known. Subclass "
        "shootax.extend.AbstractBlockField and give its `layout`."
    )
