"""The interface of kernels."""

import abc

import equinox as eqx
from jaxtyping import Array, Float


class AbstractKernel(eqx.Module):
    """A positive definite function $k(x, y)$ of two points. Your own kernel needs only `__call__`.

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
