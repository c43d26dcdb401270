"""What the weights cost."""

import abc

import equinox as eqx
from jaxtyping import Array, Float, PyTree


class AbstractPenalty(eqx.Module):
    """A penalty $R(θ)$ on the weights at one time."""

    @abc.abstractmethod
    def __call__(self, theta: PyTree[Array]) -> Float[Array, ""]:
        """$R(θ)$."""
