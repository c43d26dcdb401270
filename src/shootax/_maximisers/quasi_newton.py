"""θ* by a quasi-Newton method of Optimistix, matrix-free throughout."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._hamiltonian import hamiltonian
from shootax._maximisers.base import (
    AbstractIterative,
    Maximum,
    accepted,
    check_limits,
    precision,
    reachable,
    relative_slope,
)
from shootax._penalties import Penalty


class QuasiNewton(AbstractIterative):
    """Limited-memory BFGS ascent on H, and the implicit function theorem by conjugate gradients.

    No matrix of the size of θ squared is ever built, so use this maximiser for many weights, for which
    [`shootax.maximisers.Newton`][] is too expensive. Its default tolerance is looser, because it
    compares values of H.

    **Arguments:**

    - `tolerance`, `max_iterations`, `spread`, `seed`: as in [`shootax.maximisers.Newton`][].

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=2, width=4)
        maximiser = sx.maximisers.QuasiNewton()
        control = sx.Particles.draw(field, 5, momentum=1.0, maximiser=maximiser,
                                    key=jax.random.key(0))
        ```
    """

    tolerance: float | None = eqx.field(static=True, default=None)
    max_iterations: int = eqx.field(static=True, default=200)
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
        solution = self._minimise(field, penalty, q, p, guess, self.max_iterations)
        *held, theta = jax.lax.stop_gradient((field, penalty, q, p, solution.value))
        slope = jax.grad(hamiltonian, argnums=4)(*held, theta)
        residual, count = relative_slope(slope, theta), solution.stats["num_steps"]
        return accepted(solution.value, residual, self._tolerance(q), count)

    def search(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> PyTree[Array]:
        start = self.draw(field, precision(q))
        return self._minimise(field, penalty, q, p, start, 10 * self.max_iterations).value

    def _tolerance(self, q: PyTree[Array]) -> float:
        return reachable(0.0, q) if self.tolerance is None else self.tolerance

    def _minimise(self, field, penalty, q, p, guess, limit) -> Any:
        import lineax  # imported when first used: both take a while
        import optimistix

        tight = self._tolerance(q) / 100
        implicit = optimistix.ImplicitAdjoint(
            linear_solver=lineax.CG(rtol=tight, atol=tight, max_steps=None)
        )
        return optimistix.minimise(
            lambda theta, args: -hamiltonian(args[0], args[1], args[2], args[3], theta),
            optimistix.LBFGS(rtol=tight, atol=tight),
            jax.lax.stop_gradient(guess),
            args=(field, penalty, q, p),
            adjoint=implicit,
            tags=frozenset({lineax.positive_semidefinite_tag}),
            max_steps=limit,
            throw=False,
        )
