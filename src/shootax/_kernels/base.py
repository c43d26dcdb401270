"""What a kernel is."""

import abc

import equinox as eqx
from jaxtyping import Array, Float


class AbstractKernel(eqx.Module):
    """A positive definite function $k(x, y)$ of two points. A kernel of your own is this method."""

    @abc.abstractmethod
    def __call__(self, x: Float[Array, " dim"], y: Float[Array, " dim"]) -> Float[Array, ""]:
        """$k(x, y)$."""
