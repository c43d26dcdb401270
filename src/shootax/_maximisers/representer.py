"""θ* where the field is any function of a reproducing-kernel Hilbert space."""

import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._maximisers.base import AbstractMaximiser, Maximum
from shootax._penalties import Penalty


class Representer(AbstractMaximiser):
    """The particles themselves: $f^*(x) = Σ_j k(x, q_j)\\, p_j$ maximises H over the whole space.

    The only maximiser of [`shootax.RKHS`][], and its default.

    !!! example

        ```python
        import jax
        import shootax as sx

        control = sx.Particles.draw(sx.RKHS(dim=2), 5, key=jax.random.key(0))
        print(type(control.maximiser).__name__)  # Representer
        ```
    """

    @property
    def conserves(self) -> bool:
        return True

    def check(self, field: AbstractField, penalty: Penalty) -> None:
        if field.has_theta:
            raise ValueError(
                f"Representer does not work with {type(field).__name__}, which has weights θ: it is "
                "only for RKHS fields. Leave the maximiser out."
            )

    def __call__(
        self,
        field: AbstractField,
        penalty: Penalty,
        q: PyTree[Array],
        p: PyTree[Array],
        guess: PyTree[Array] | None,
    ) -> Maximum:
        return Maximum({"q": q, "p": p}, jnp.array(True), jnp.array(0.0), jnp.array(1))
