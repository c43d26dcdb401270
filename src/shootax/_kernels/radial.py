"""Kernels that depend only on the distance."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._kernels.base import AbstractKernel


class GaussianKernel(AbstractKernel):
    """$\\exp(-|x - y|^2 / 2s^2)$.

    **Arguments:**

    - `scale`: the width $s$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.RKHS(dim=2, kernel=sx.kernels.GaussianKernel(scale=0.5))
        net = sx.Net(field, particles=5, key=jax.random.key(0))
        ```
    """

    scale: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        checks.positive_number(self.scale, "scale")

    def __call__(self, x: Float[Array, " dim"], y: Float[Array, " dim"]) -> Float[Array, ""]:
        return jnp.exp(-jnp.sum((x - y) ** 2) / (2 * self.scale**2))


class LaplaceKernel(AbstractKernel):
    """$\\exp(-|x - y| / s)$.

    Its derivative at $x = y$ does not exist and is taken as zero.

    **Arguments:**

    - `scale`: the width $s$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.RKHS(dim=2, kernel=sx.kernels.LaplaceKernel(scale=0.5))
        net = sx.Net(field, particles=5, key=jax.random.key(0))
        ```
    """

    scale: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        checks.positive_number(self.scale, "scale")

    def __call__(self, x: Float[Array, " dim"], y: Float[Array, " dim"]) -> Float[Array, ""]:
        square = jnp.sum((x - y) ** 2)
        # Both branches must be smooth for the derivatives, of any order, to stay finite.
        apart = square > 0
        distance = jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), 0.0)
        return jnp.exp(-distance / self.scale)


class InverseMultiquadric(AbstractKernel):
    """$(1 + |x - y|^2 / s^2)^{-1/2}$.

    **Arguments:**

    - `scale`: the width $s$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.RKHS(dim=2, kernel=sx.kernels.InverseMultiquadric(scale=0.5))
        net = sx.Net(field, particles=5, key=jax.random.key(0))
        ```
    """

    scale: float = eqx.field(static=True, default=1.0)

    def __check_init__(self):
        checks.positive_number(self.scale, "scale")

    def __call__(self, x: Float[Array, " dim"], y: Float[Array, " dim"]) -> Float[Array, ""]:
        return (1 + jnp.sum((x - y) ** 2) / self.scale**2) ** -0.5
