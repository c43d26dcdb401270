"""θ* by a fixed number of ascent steps, through which the gradient goes back."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._fields import AbstractField
from shootax._hamiltonian import hamiltonian
from shootax._maximisers.base import (
    AbstractIterative,
    Maximum,
    check_tolerance,
    default_tolerance,
    precision,
    relative_slope,
)
from shootax._penalties import Penalty


class Unrolled(AbstractIterative):
    """`steps` steps of gradient ascent on H from the last θ, as in the paper.

    The training gradient goes back through the steps, but not through their initial guess.
    It is that of the true θ* only as far as the steps converge, which is not guaranteed: check it
    with [`shootax.maximisers.maximise`][].

    **Arguments:**

    - `steps`, `rate`: number and size of the ascent steps.
    - `warmup`: number of steps of the first search, at $t = 0$, which starts from weights
        $N(0, spread^2)$ drawn with `seed`.
    - `spread`, `seed`: see `warmup`.
    - `tolerance`: the result counts as converged if $∂H/∂θ$ is within this tolerance.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=2, width=4)
        maximiser = sx.maximisers.Unrolled(20, rate=0.3)
        control = sx.Particles.draw(field, 5, momentum=1.0, maximiser=maximiser,
                                    key=jax.random.key(0))
        ```
    """

    steps: int = eqx.field(static=True, default=20)
    rate: float = eqx.field(static=True, default=0.2)
    warmup: int = eqx.field(static=True, default=500)
    tolerance: float | None = eqx.field(static=True, default=None)
    spread: float = eqx.field(static=True, default=0.5)
    seed: int = eqx.field(static=True, default=0)

    def __check_init__(self):
        checks.positive_integer(self.steps, "steps")
        checks.positive_integer(self.warmup, "warmup")
        checks.positive_number(self.rate, "rate")
        check_tolerance(self.tolerance)

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        slope = _slope(field, penalty, q, p)
        theta = self._climb(slope, jax.lax.stop_gradient(guess), self.steps)
        residual = jax.lax.stop_gradient(relative_slope(slope(theta), theta))
        converged = residual <= default_tolerance(self.tolerance, q)
        return Maximum(theta, converged, residual, jnp.array(self.steps))

    def search(
        self, field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]
    ) -> PyTree[Array]:
        start = self.draw(field, precision(q))
        return self._climb(_slope(field, penalty, q, p), start, self.warmup)

    def _climb(self, slope: Any, start: PyTree[Array], steps: int) -> PyTree[Array]:
        def step(theta: PyTree[Array], _: None) -> tuple[PyTree[Array], None]:
            return jax.tree.map(lambda a, g: a + self.rate * g, theta, slope(theta)), None

        return jax.lax.scan(step, start, None, length=steps)[0]


def _slope(field: AbstractField, penalty: Penalty, q: PyTree[Array], p: PyTree[Array]) -> Any:
    return lambda theta: jax.grad(hamiltonian, argnums=4)(field, penalty, q, p, theta)
