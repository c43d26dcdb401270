"""θ* where the field is any function of a reproducing-kernel Hilbert space."""

import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._maximisers.base import AbstractMaximiser, Maximum
from shootax._penalties import Penalty


class Representer(AbstractMaximiser):
    """The particles themselves: $f^*(x) = Σ_j k(x, q_j)\\, p_j$ maximises H over the whole space."""

    @property
    def conserves(self) -> bool:
        return True

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        return Maximum({"q": q, "p": p}, jnp.array(True), jnp.array(0.0), jnp.array(1))
