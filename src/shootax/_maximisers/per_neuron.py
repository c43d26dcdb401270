"""θ* of a single hidden layer under a quadratic penalty, neuron by neuron."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from shootax import _checks as checks
from shootax._activations import Activation
from shootax._fields import AbstractField, HiddenLayer
from shootax._maximisers.base import (
    AbstractIterative,
    Maximum,
    Survey,
    check_limits,
    default_tolerance,
    precision,
    reachable,
)
from shootax._maximisers.hidden_layer import arguments, incoming, pulls, weights
from shootax._maximisers.requirements import hidden_layer, require_theta
from shootax._penalties import Penalty, Quadratic

INNER = ("theta1", "theta2", "b2")
FLAT = 0.1
"""The smallest curvature that counts as a maximum, in units of that of the penalty."""
FAR = 0.1
"""Weights with a larger residual are not a solution."""


class PerNeuron(AbstractIterative):
    """Newton's method for each neuron separately, with its outgoing weights eliminated.

    With $g(u) = Σ_i p_i\\, σ(⟨u, (q_i, 1)⟩)$ the best outgoing weights of a neuron with incoming weights
    $u$ are $g(u)/w_1$. What remains is to maximise $φ(u) = |g(u)|^2/2w_1 - ½⟨u, W u⟩$, a problem in
    $d + 1$ numbers. It is the same for all neurons, which differ in the local maximum that they follow.
    Steps go up along the eigenvectors of the Hessian, as far as φ rises. The training gradient is that
    of the implicit function theorem, bounded where a maximum is about to vanish. If the maximum of a
    neuron vanishes during the flow, the neuron may need more than one evaluation to reach the next one.
    Weights that are far from any maximum are NaN.

    With one start, the first search finds some local maximum, often not the highest one. With several
    starts, each neuron takes the highest of those that it reaches, which makes H as large as it can be.
    As neurons do not act on each other, they then tend to be identical.

    **Arguments:**

    - `tolerance`: the tolerance of $∂φ/∂u$, relative to the size of $u$; by default what the precision
        allows.
    - `max_iterations`: the limit for a warm-started solve; the first search may take three times as many.
    - `spread`, `seed`: the weights that the first search starts from are $N(0, spread^2)$.
    - `starts`: the number of such initial weights. The cost of the first search is proportional to it;
        the cost of the solves along the path does not change.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=3, width=4)
        penalty = sx.Quadratic(theta1=4.0, b1=4.0, default=0.25)
        control = sx.Particles.draw(field, 15, penalty=penalty, momentum=0.5, key=jax.random.key(0))
        print(type(control.maximiser).__name__)  # PerNeuron
        ```
    """

    tolerance: float | None = eqx.field(static=True, default=None)
    max_iterations: int = eqx.field(static=True, default=50)
    spread: float = eqx.field(static=True, default=1.0)
    seed: int = eqx.field(static=True, default=0)
    starts: int = eqx.field(static=True, default=1)

    def __check_init__(self):
        check_limits(self.tolerance, self.max_iterations)
        checks.positive_integer(self.starts, "starts")

    @staticmethod
    def suits(field: AbstractField, penalty: Penalty) -> bool:
        """Whether neurons do not act on each other."""
        if field.as_hidden_layer() is None or not isinstance(penalty, Quadratic):
            return False
        return all(isinstance(penalty.strength(name), float) for name in INNER)

    def check(self, field: AbstractField, penalty: Penalty) -> None:
        require_theta(self, field)
        if not self.suits(field, penalty):
            raise ValueError(
                "PerNeuron is for SingleHiddenLayer with a quadratic penalty whose strengths of "
                f"theta1, theta2 and b2 are numbers, got {type(field).__name__} with "
                f"{type(penalty).__name__}. Use Newton()."
            )

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        assert guess is not None
        hill = _hill(field, penalty, q, p)
        tolerance = default_tolerance(self.tolerance, q)

        def solve(_: Any, start: Array) -> tuple[Array, Any]:
            u, residual, count = climb(hill, start, tolerance, self.max_iterations)
            return u, (residual, count.astype(u.dtype))

        def tangent(linear: Callable[[Array], Array], y: Array) -> Array:
            # The Jacobian has a block for each neuron, and a direction may be tried on all at once.
            axes = jnp.broadcast_to(jnp.eye(y.shape[1])[:, None], (y.shape[1], *y.shape))
            blocks = jnp.moveaxis(jax.vmap(linear)(axes.astype(y.dtype)), 0, 2)
            # Where a maximum is about to vanish its curvature does, and the derivative is infinite.
            least = FLAT * jnp.min(hill.costs)
            curves, vectors = jnp.linalg.eigh(blocks)
            along = jnp.einsum("wef,we->wf", vectors, y) / jnp.minimum(curves, -least)
            return jnp.einsum("wef,wf->we", vectors, along)

        start = jax.lax.stop_gradient(incoming(guess))
        u, (residual, count) = jax.lax.custom_root(hill.slope, start, solve, tangent, has_aux=True)
        converged = residual <= reachable(tolerance, q)
        u = jnp.where(residual <= FAR, u, jnp.nan)
        return Maximum(hill.weights(u), converged, residual, count.astype(int))

    def search(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> PyTree[Array]:
        return self.survey(field, penalty, q, p).theta

    def survey(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> Survey:
        hill, tolerance = _hill(field, penalty, q, p), default_tolerance(self.tolerance, q)
        first = incoming(self.draw(field, precision(q)))
        # The first start is the same as that of a search with one start.
        key, shape = (
            jax.random.fold_in(jax.random.key(self.seed), 1),
            (self.starts - 1, *first.shape),
        )
        more = self.spread * jax.random.normal(key, shape, first.dtype)
        # For `climb`, the starts are additional neurons.
        tried = jnp.concatenate([first[None], more]).reshape(-1, first.shape[1])
        u, _, _ = climb(hill, tried, tolerance, 3 * self.max_iterations)
        if self.starts == 1:
            return Survey(hill.weights(u))
        heights, steepness = hill.height(u), jnp.max(jnp.abs(hill.slope(u)), axis=1)
        arrived = steepness <= reachable(tolerance, q) * (1 + jnp.max(jnp.abs(u), axis=1))
        maxima = _different(jnp.where(arrived, heights, jnp.nan))
        known = jnp.where(jnp.isnan(heights), -jnp.inf, heights).reshape(self.starts, -1)
        best = jnp.argmax(known, axis=0)
        chosen = jnp.take_along_axis(u.reshape(-1, *first.shape), best[None, :, None], axis=0)[0]
        return Survey(hill.weights(chosen), best, maxima)


def _different(heights: Float[Array, " n"]) -> Int[Array, ""]:
    """Count the numbers that differ by more than rounding, without NaN.

    A maximum and its mirror image, the same neuron with an odd activation, have the same height and
    count once.
    """
    ordered = jnp.sort(heights)  # NaN comes last
    gap = jnp.diff(ordered) > jnp.finfo(heights.dtype).eps ** 0.5 * (1 + jnp.abs(ordered[1:]))
    return jnp.sum(gap) + jnp.any(jnp.isfinite(heights)).astype(int)


class Hill(NamedTuple):
    """$φ$ of all neurons $u = (w, b)$, which are rows."""

    layer: HiddenLayer
    penalty: Quadratic
    q: Float[Array, "K dim"]
    p: Float[Array, "K dim"]
    outgoing: float
    costs: Float[Array, " dim_1"]

    def height(self, u: Float[Array, "width dim_1"]) -> Float[Array, " width"]:
        pull = self.pull(u)
        cost = jnp.sum(self.costs[None] * u**2, axis=1)
        return 0.5 * (jnp.sum(pull**2, axis=1) / self.outgoing - cost)

    def pull(self, u: Float[Array, "width dim_1"]) -> Float[Array, "width dim"]:
        """$g(u)$."""
        return pulls(self.layer, self.q, self.p, u)

    def slope(self, u: Float[Array, "width dim_1"]) -> Float[Array, "width dim_1"]:
        value, first = _derivatives(self.layer.activation, arguments(self.q, u), 1)
        share = (value @ self.p) @ self.p.T  # ⟨g, p_i⟩
        return (share * first) @ self.extended() / self.outgoing - self.costs[None] * u

    def curvature(self, u: Float[Array, "width dim_1"]) -> Float[Array, "width dim_1 dim_1"]:
        value, first, second = _derivatives(self.layer.activation, arguments(self.q, u), 2)
        share = (value @ self.p) @ self.p.T
        q = self.extended()
        jacobian = jnp.einsum("wi,id,ie->wde", first, self.p, q)
        bend = jnp.einsum("wi,ie,if->wef", share * second, q, q)
        rise = jnp.einsum("wde,wdf->wef", jacobian, jacobian) + bend
        return rise / self.outgoing - jnp.diag(self.costs)[None]

    def extended(self) -> Float[Array, "K dim_1"]:
        """$(q_i, 1)$, the derivatives of the arguments."""
        return jnp.concatenate([self.q, jnp.ones((self.q.shape[0], 1), self.q.dtype)], axis=1)

    def weights(self, u: Float[Array, "width dim_1"]) -> dict[str, Array]:
        """θ with the best outgoing weights."""
        theta = weights(self.pull(u) / self.outgoing, u)
        if not self.layer.bias:
            return theta
        total = {"b1": jnp.sum(self.p, axis=0)}
        return {**theta, **self.penalty.solve(total)}


def climb(
    hill: Hill, start: Float[Array, "width dim_1"], tolerance: float, limit: int
) -> tuple[Float[Array, "width dim_1"], Float[Array, ""], Int[Array, ""]]:
    """A local maximum for each neuron, the largest relative slope there, and the iterations."""
    reaches = (1.0, 0.3, 0.1, 0.03, 3e-3)

    def residual(u: Array, slope: Array) -> Array:
        return jnp.max(jnp.abs(slope)) / (1 + jnp.max(jnp.abs(u)))

    def go_on(loop: Any) -> Array:
        count, u, slope, stuck = loop
        bounded = jnp.max(jnp.abs(u)) < 1e8
        return (count < limit) & (residual(u, slope) > tolerance) & ~stuck & bounded

    def improve(loop: Any) -> Any:
        count, u, slope, _ = loop
        curves, vectors = jnp.linalg.eigh(hill.curvature(u))
        sizes = jnp.maximum(jnp.abs(curves), 1e-3 * jnp.max(jnp.abs(curves), axis=1, keepdims=True))
        along = jnp.einsum("wef,we->wf", vectors, slope) / (sizes + 1e-12)
        step = jnp.einsum("wef,wf->we", vectors, along)
        tried = jnp.stack([u, *(u + reach * step for reach in reaches)])
        heights = jax.vmap(hill.height)(tried)
        slopes = jax.vmap(hill.slope)(tried)
        steepness = jnp.max(jnp.abs(slopes), axis=2)
        # Near the maximum φ is flat to rounding, and a smaller slope counts instead.
        rounding = 10 * jnp.finfo(u.dtype).eps * (1 + jnp.abs(heights[:1]))
        level = (heights >= heights[:1] - rounding) & (steepness < 0.5 * steepness[:1])
        rises = (heights > heights[:1] + rounding) | level
        best = jnp.argmax(
            jnp.where(rises, heights + jnp.where(level, rounding, 0.0), -jnp.inf), axis=0
        )
        chosen = jnp.where(jnp.any(rises, axis=0), best, 0)[None, :, None]
        new, new_slope = (jnp.take_along_axis(a, chosen, axis=0)[0] for a in (tried, slopes))
        return count + 1, new, new_slope, ~jnp.any(rises)

    loop = (jnp.array(0), start, hill.slope(start), jnp.array(False))
    count, u, slope, _ = jax.lax.while_loop(go_on, improve, loop)
    return u, residual(u, slope), count


def _hill(field: AbstractField, penalty: Penalty, q: Array, p: Array) -> Hill:
    assert isinstance(penalty, Quadratic)
    layer = hidden_layer(field)
    outgoing, weight, bias = (penalty.strength(name) for name in INNER)
    assert isinstance(outgoing, float)
    costs = jnp.asarray([weight] * layer.dim + [bias], q.dtype)
    return Hill(layer, penalty, q, p, outgoing, costs)


def _derivatives(activation: Activation, s: Array, order: int) -> tuple[Array, ...]:
    """An elementwise function and its first derivatives."""

    def tower(function: Callable[[Array], Any]) -> Callable[[Array], Any]:
        def more(s: Array) -> Any:
            return jax.jvp(function, (s,), (jnp.ones_like(s),))

        return more

    if order == 1:
        return tower(activation)(s)
    (value, first), (_, second) = tower(tower(activation))(s)
    return value, first, second
