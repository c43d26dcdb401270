"""θ* where the field is linear in θ and the penalty quadratic."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._fields import AbstractField
from shootax._hamiltonian import theta_star
from shootax._maximisers.base import AbstractMaximiser, Maximum
from shootax._maximisers.requirements import require_quadratic, require_theta
from shootax._penalties import Penalty, Quadratic


class ClosedForm(AbstractMaximiser):
    """$θ^* = M^{-1} Σ_j L_{q_j}^⊤ p_j$: one gradient, and the inverse of the penalty's matrix $M$.

    (Eq. EqShootingLinearParameterQuadraticPenalization.) The default for fields linear in θ with a
    quadratic penalty.

    **Arguments:**

    - `drift`: whether the field has a part that is free of θ.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.Affine(dim=2, activation="tanh")
        control = sx.Particles.draw(field, 5, maximiser=sx.maximisers.ClosedForm(),
                                    key=jax.random.key(0))
        ```
    """

    drift: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        checks.boolean(self.drift, "drift")

    @property
    def conserves(self) -> bool:
        return not self.drift

    def check(self, field: AbstractField, penalty: Penalty) -> None:
        require_theta(self, field)
        require_quadratic(self, field, penalty, Quadratic, self.drift)

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        assert isinstance(penalty, Quadratic)
        return Maximum(
            theta_star(field, penalty, q, p), jnp.array(True), jnp.array(0.0), jnp.array(1)
        )
