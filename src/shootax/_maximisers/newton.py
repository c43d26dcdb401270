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

    Where a Newton step does not ascend, a step up along the eigenvectors of the Hessian is searched
    instead. An iteration costs one Hessian, of the size of θ squared: the choice for up to a few
    hundred weights. Where it does not converge the weights are NaN, never half a solution.

    **Arguments:**

    - `tolerance`: of $∂H/∂θ$, relative to the size of θ; by default what the number format
        allows.
    - `max_iterations`: of a warm-started solve; the first search may take three times as many.
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

        def tangent(linear: Any, y: Array) -> Array:
            return jnp.linalg.solve(jax.jacfwd(linear)(jnp.zeros_like(y)), y)

        x, (residual, count) = jax.lax.custom_root(
            jax.grad(energy), jax.lax.stop_gradient(flat), solve, tangent, has_aux=True
        )
        return accepted(unravel(x), residual, reachable(tolerance, q), count.astype(int))

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


def ascend(
    energy: Callable[[Array], Array], start: Float[Array, " n"], tolerance: float, limit: int
) -> tuple[Float[Array, " n"], Float[Array, ""], Int[Array, ""]]:
    """A local maximum of `energy`, the relative gradient there, and the number of iterations."""

    def residual(x: Array, slope: Array) -> Array:
        return jnp.max(jnp.abs(slope), initial=0.0) / (1 + jnp.max(jnp.abs(x), initial=0.0))

    def go_on(loop: Any) -> Array:
        count, x, _, slope, stuck = loop
        bounded = jnp.max(jnp.abs(x), initial=0.0) < 1e8
        return (count < limit) & (residual(x, slope) > tolerance) & ~stuck & bounded

    def improve(loop: Any) -> Any:
        count, x, value, slope, _ = loop
        curvature = jax.hessian(energy)(x)
        new = x - jnp.linalg.solve(curvature, slope)
        new_value, new_slope = jax.value_and_grad(energy)(new)
        # Near the maximum the value is flat to rounding, and a smaller gradient counts instead.
        rounding = 10 * jnp.finfo(x.dtype).eps * (1 + jnp.abs(value))
        shrinks = residual(new, new_slope) < 0.5 * residual(x, slope)
        rises = (new_value > value + rounding) | ((new_value > value - rounding) & shrinks)
        # Newton's method is just as happy with a saddle point; only a concave H will do.
        concave = jnp.all(jnp.isfinite(jnp.linalg.cholesky(-curvature)))
        good = rises & concave
        taken = (new, new_value, new_slope, jnp.array(False))
        return (
            count + 1,
            *jax.lax.cond(good, lambda: taken, lambda: careful(x, value, slope, curvature)),
        )

    def careful(x: Array, value: Array, slope: Array, curvature: Array) -> Any:
        """Up along every eigenvector, also where H curves upwards, as far as it pays."""
        curves, vectors = jnp.linalg.eigh(curvature)
        sizes = jnp.maximum(jnp.abs(curves), 1e-3 * jnp.max(jnp.abs(curves)) + 1e-12)
        step = vectors @ ((vectors.T @ slope) / sizes)
        reaches = jnp.asarray([4.0, 1.0, 0.3, 0.1, 0.03, 0.01, 1e-3, 1e-4], x.dtype)
        values = jax.vmap(lambda reach: energy(x + reach * step))(reaches)
        values = jnp.where(jnp.isfinite(values), values, -jnp.inf)
        best = jnp.argmax(values)
        better = values[best] > value
        new = jnp.where(better, x + reaches[best] * step, x)
        return (new, *jax.value_and_grad(energy)(new), ~better)

    value, slope = jax.value_and_grad(energy)(start)
    loop = (jnp.array(0), start, value, slope, jnp.array(False))
    count, x, _, slope, _ = jax.lax.while_loop(go_on, improve, loop)
    return x, residual(x, slope), count
