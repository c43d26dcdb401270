"""The interface of maximisers of the Hamiltonian."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PyTree

from shootax import _checks as checks
from shootax._fields import AbstractField
from shootax._maximisers.requirements import require_theta
from shootax._penalties import Penalty


class Maximum(NamedTuple):
    """The result of [`shootax.maximisers.maximise`][].

    **Arguments:**

    - `theta`: the weights θ*.
    - `converged`: whether `residual` is within the tolerance.
    - `residual`: the largest entry of $∂H/∂θ$ at θ*, relative to the size of θ*.
    - `iterations`: the number of iterations of the solve.
    - `unbounded`: whether H has no maximum, if that was checked.
    - `start`: with several starts, the index of the chosen start for each neuron.
    - `maxima`: with several starts, the number of local maxima of different height.
    """

    theta: PyTree[Array]
    converged: Bool[Array, ""]
    residual: Float[Array, ""]
    iterations: Int[Array, ""]
    unbounded: Bool[Array, ""] | bool = False
    start: Int[Array, " width"] | None = None
    maxima: Int[Array, ""] | None = None


class Survey(NamedTuple):
    """A first guess of θ* and, with several starts, the chosen start and the number of local maxima, as
    in [`shootax.maximisers.Maximum`][]."""

    theta: PyTree[Array]
    start: Int[Array, " width"] | None = None
    maxima: Int[Array, ""] | None = None


class AbstractMaximiser(eqx.Module):
    """A way to find $θ^* ∈ \\arg\\max_θ H(q, p, θ)$."""

    @property
    @abc.abstractmethod
    def conserves(self) -> bool:
        """Whether the penalty $R(θ^*)$ is constant along the flow, as it is if H is a quadratic
        function of θ without a drift: then $\\mathcal H = R(θ^*)$."""

    @abc.abstractmethod
    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        """Find the maximum, starting from `guess`. A training gradient goes through `theta`."""

    def check(self, field: AbstractField, penalty: Penalty) -> None:
        """Raise unless this maximiser can solve the problem."""
        require_theta(self, field)


class AbstractIterative(AbstractMaximiser):
    """A maximiser that iterates from a guess; the better the guess, the fewer iterations.

    There may be many local maxima, and for odd activations θ = 0 is a saddle point; the search
    therefore starts, at $t = 0$, from weights drawn once from a fixed `seed`.
    """

    spread: eqx.AbstractVar[float]
    seed: eqx.AbstractVar[int]

    def __check_init__(self):
        checks.positive_number(self.spread, "spread")
        checks.seed(self.seed)

    @property
    def conserves(self) -> bool:
        return False

    @property
    def smooth(self) -> bool:
        """Whether $∂H/∂θ = 0$ at θ*. If not, as at a corner, Hamilton's equations are those of the
        reduced Hamiltonian, whose derivatives are not the partial ones of H."""
        return True

    def refine(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        theta: PyTree[Array],
    ) -> PyTree[Array]:
        """Solve again from θ* itself, for its derivatives along the path of the particles."""
        return self(field, penalty, q, p, theta).theta

    @abc.abstractmethod
    def search(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> PyTree[Array]:
        """Find a first guess of θ*, without a given guess and without a gradient."""

    def survey(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> Survey:
        """The same, with information about other maxima."""
        return Survey(self.search(field, penalty, q, p))

    def draw(self, field: AbstractField, dtype: jnp.dtype) -> PyTree[Array]:
        """The weights that a search starts from."""
        leaves, tree = jax.tree.flatten(field.theta)
        keys = jax.random.split(jax.random.key(self.seed), len(leaves))
        drawn = [
            self.spread * jax.random.normal(key, leaf.shape, dtype)
            for key, leaf in zip(keys, leaves, strict=True)
        ]
        return jax.tree.unflatten(tree, drawn)


def precision(q: PyTree[Array]) -> jnp.dtype:
    """The dtype of the particles."""
    return jnp.result_type(*jax.tree.leaves(q))


def largest(tree: PyTree[Array]) -> Float[Array, ""]:
    """The largest entry of a tree, in absolute value."""
    peaks = [jnp.max(jnp.abs(leaf), initial=0.0) for leaf in jax.tree.leaves(tree)]
    return jnp.max(jnp.stack(peaks))


def check_limits(tolerance: float | None, max_iterations: int) -> None:
    """Raise unless these limits are valid."""
    check_tolerance(tolerance)
    checks.positive_integer(max_iterations, "max_iterations")


def check_tolerance(tolerance: float | None) -> None:
    if tolerance is not None:
        checks.positive_number(tolerance, "tolerance")


def relative_slope(slope: PyTree[Array], theta: PyTree[Array]) -> Float[Array, ""]:
    """The largest entry of the gradient of H, relative to the size of θ."""
    return largest(slope) / (1 + largest(theta))


def accepted(
    theta: PyTree[Array], residual: Float[Array, ""], tolerance: float, iterations: Int[Array, ""]
) -> Maximum:
    """The maximum if it is within the tolerance; otherwise its weights are NaN."""
    converged = residual <= tolerance
    theta = jax.tree.map(lambda leaf: jnp.where(converged, leaf, jnp.nan), theta)
    return Maximum(theta, converged, residual, iterations)


def default_tolerance(tolerance: float | None, q: PyTree[Array]) -> float:
    """The given tolerance, or by default about what the precision of the particles allows."""
    if tolerance is not None:
        return tolerance
    return 10 * float(jnp.finfo(precision(q)).eps) ** 0.7


def reachable(tolerance: float, q: PyTree[Array]) -> float:
    """A tolerance, or the tightest that rounding allows: iterations stall where H is flat to
    rounding."""
    return max(tolerance, 10 * float(jnp.finfo(precision(q)).eps) ** 0.5)
