"""θ* by Newton's method, with the gradient of the solution itself."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Int, PyTree

from shootax._fields import AbstractField
from shootax._hamiltonian import hamiltonian
from shootax._maximisers.base import (
    AbstractIterative,
    Maximum,
    accepted,
    check_limits,
    default_tolerance,
    precision,
    reachable,
)
from shootax._penalties import Penalty


class Newton(AbstractIterative):
    """Damped Newton ascent on H, and the implicit function theorem for its gradient.

    If a Newton step does not ascend, an ascending step along the eigenvectors of the Hessian replaces
    it. An iteration costs one Hessian, of the size of θ squared, so use this maximiser for up to a few
    hundred weights. If it does not converge, the weights are NaN, never half a solution.

    **Arguments:**

    - `tolerance`: the tolerance of $∂H/∂θ$, relative to the size of θ; by default what the precision
        allows.
    - `max_iterations`: the limit for a warm-started solve; the first search may take three times as many.
    - `spread`, `seed`: the weights that the first search starts from are $N(0, spread^2)$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=2, width=4)
        maximiser = sx.maximisers.Newton(tolerance=1e-4)
        control = sx.Particles.draw(field, 5, momentum=1.0, maximiser=maximiser,
                                    key=jax.random.key(0))
        ```
    """

    tolerance: float | None = eqx.field(static=True, default=None)
    max_iterations: int = eqx.field(static=True, default=100)
    spread: float = eqx.field(static=True, default=0.5)
    seed: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        check_limits(self.tolerance, self.max_iterations)

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        flat, unravel = ravel_pytree(guess)
        tolerance = default_tolerance(self.tolerance, q)

        def energy(x: Array) -> Array:
            return hamiltonian(field, penalty, q, p, unravel(x))

        def solve(_: Any, start: Array) -> tuple[Array, Any]:
            x, residual, count = ascend(energy, start, tolerance, self.max_iterations)
            return x, (residual, count.astype(x.dtype))

        x, (residual, count) = _stationary(energy, flat, solve)
        return accepted(unravel(x), residual, reachable(tolerance, q), count.astype(int))

    def refine(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        theta: PyTree[Array],
    ) -> PyTree[Array]:
        flat, unravel = ravel_pytree(theta)  # a maximum already: only its derivatives are needed

        def energy(x: Array) -> Array:
            return hamiltonian(field, penalty, q, p, unravel(x))

        return unravel(_stationary(energy, flat, lambda _, x: (x, None))[0])

    def search(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> PyTree[Array]:
        flat, unravel = ravel_pytree(self.draw(field, precision(q)))
        x, _, _ = ascend(
            lambda x: hamiltonian(field, penalty, q, p, unravel(x)),
            flat,
            default_tolerance(self.tolerance, q),
            3 * self.max_iterations,
        )
        return unravel(x)


def _stationary(
    energy: Callable[[Array], Array], start: Float[Array, " n"], solve: Callable
) -> tuple[Float[Array, " n"], Any]:
    """The result of `solve`, with the derivatives of a solution of $∂H/∂θ = 0$."""

    def tangent(linear: Any, y: Array) -> Array:
        return jnp.linalg.solve(jax.jacfwd(linear)(jnp.zeros_like(y)), y)

    return jax.lax.custom_root(
        jax.grad(energy), jax.lax.stop_gradient(start), solve, tangent, has_aux=True
    )


def ascend(
    energy: Callable[[Array], Array], start: Float[Array, " n"], tolerance: float, limit: int
) -> tuple[Float[Array, " n"], Float[Array, ""], Int[Array, ""]]:
    """A local maximum of `energy`, the relative gradient there, and the number of iterations."""

    def residual(x: Array, slope: Array) -> Array:
        return jnp.max(jnp.abs(slope), initial=0.0) / (1 + jnp.max(jnp.abs(x), initial=0.0))

    def go_on(loop: Any) -> Array:
        count, x, _, slope, _, stuck = loop
        bounded = jnp.max(jnp.abs(x), initial=0.0) < 1e8
        return (count < limit) & (residual(x, slope) > tolerance) & ~stuck & bounded

    def improve(loop: Any) -> Any:
        count, x, value, slope, refused, _ = loop
        curvature = jax.hessian(energy)(x)
        factor = jnp.linalg.cholesky(-curvature)
        # Newton's method also converges to saddle points, so H must be concave here.
        newton = jnp.all(jnp.isfinite(factor)) & ~refused
        new = jax.lax.cond(
            newton,
            lambda: x + jax.scipy.linalg.cho_solve((factor, True), slope),
            lambda: climb(x, slope, curvature),
        )
        new_value, new_slope = jax.value_and_grad(energy)(new)
        # Near the maximum the value is flat to rounding, and a smaller gradient counts instead.
        rounding = 10 * jnp.finfo(x.dtype).eps * (1 + jnp.abs(value))
        shrinks = residual(new, new_slope) < 0.5 * residual(x, slope)
        rises = (new_value > value + rounding) | ((new_value > value - rounding) & shrinks)
        good = jnp.where(newton, rises, new_value > value)
        kept = [
            jnp.where(good, *pair) for pair in ((new, x), (new_value, value), (new_slope, slope))
        ]
        # A Newton step that is refused counts together with the climb that replaces it.
        refused = newton & ~good
        return (count + jnp.where(refused, 0, 1), *kept, refused, ~newton & ~good)

    def climb(x: Array, slope: Array, curvature: Array) -> Array:
        """Step up along every eigenvector, also where H curves upwards, as far as it pays off."""
        curves, vectors = jnp.linalg.eigh(curvature)
        sizes = jnp.maximum(jnp.abs(curves), 1e-3 * jnp.max(jnp.abs(curves)) + 1e-12)
        step = vectors @ ((vectors.T @ slope) / sizes)
        reaches = jnp.asarray([4.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4], x.dtype)
        values = jax.vmap(lambda reach: energy(x + reach * step))(reaches)
        values = jnp.where(jnp.isfinite(values), values, -jnp.inf)
        return x + reaches[jnp.argmax(values)] * step

    value, slope = jax.value_and_grad(energy)(start)
    loop = (jnp.array(0), start, value, slope, jnp.array(False), jnp.array(False))
    count, x, _, slope, _, _ = jax.lax.while_loop(go_on, improve, loop)
    return x, residual(x, slope), count
