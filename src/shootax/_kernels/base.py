"""What a kernel is."""

import abc

import equinox as eqx
from jaxtyping import Array, Float


class AbstractKernel(eqx.Module):
    """A positive definite function $k(x, y)$ of two points. A kernel of your own is this method.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        class Cauchy(sx.kernels.AbstractKernel):
            def __call__(self, x, y):
                return 1 / (1 + jnp.sum((x - y) ** 2))

        field = sx.RKHS(dim=2, kernel=Cauchy())
        ```
    """

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " dim"], y: Float[Array, " dim"]) -> Float[Array, ""]:
        """$k(x, y)$."""
