"""θ* where the field is linear in θ and the penalty quadratic."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax._fields import AbstractConvField, AbstractField
from shootax._hamiltonian import theta_star
from shootax._maximisers.base import AbstractMaximiser, Maximum
from shootax._penalties import Penalty, Quadratic


class ClosedForm(AbstractMaximiser):
    """$θ^* = M^{-1} Σ_j L_{q_j}^⊤ p_j$: one gradient, and the inverse weights of the penalty.

    (Eq. EqShootingLinearParameterQuadraticPenalization.)

    **Arguments:** `drift`, whether the field has a part that is free of θ.
    """

    drift: bool = eqx.field(static=True, default=False)

    @property
    def conserves(self) -> bool:
        return not self.drift

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        assert isinstance(penalty, Quadratic)
        if isinstance(field, AbstractConvField):
            theta = penalty.solve(field.correlate(q, p))
        else:
            theta = theta_star(field, penalty, q, p)
        return Maximum(theta, jnp.array(True), jnp.array(0.0), jnp.array(1))
