"""A grouped convolution, linear in θ: channels act only on channels of their own group."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._activations import Activation
from shootax._activations import activation as named_activation
from shootax._fields.base import shape
from shootax._fields.convolution import AbstractImageField, shifts


class ConvGrouped(AbstractImageField):
    """$f(X, θ)_g = A_g * σ(X_g) + b_g$ for each group $X_g$ of channels. By default there are as
    many groups as channels, which is a depthwise convolution.

    The field has `groups` times fewer weights than [`shootax.ConvAffine`][].

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.ConvGrouped(channels=4, size=(6, 6), groups=2)  # particles of 6×6 pixels
        print(field.theta["A"].shape)  # (4, 2, 3, 3)
        net = sx.Net(field, particles=3, key=jax.random.key(0))
        y = net(jax.numpy.ones((2, 4, 8, 8)))  # data of 8×8 pixels
        ```
    """

    channels: int = eqx.field(static=True)
    size: tuple[int, ...] = eqx.field(static=True)
    groups: int = eqx.field(static=True)
    window: int = eqx.field(static=True)
    activation: Activation = eqx.field(static=True)

    def __init__(
        self,
        channels: int,
        size: tuple[int, ...],
        groups: int | None = None,
        *,
        window: int = 3,
        activation: str | Activation = "relu",
    ):
        """**Arguments:**

        - `channels`, `size`, `window`, `activation`: as in [`shootax.ConvAffine`][].
        - `groups`: the number of groups, which must divide the number of channels. By default each
            channel is its own group.
        """
        self.channels = checks.positive_integer(channels, "channels")
        self.groups = self.channels if groups is None else checks.positive_integer(groups, "groups")
        if self.channels % self.groups:
            raise ValueError(
                f"groups must divide the number of channels, got {self.groups} groups of "
                f"{self.channels} channels."
            )
        self.size = checks.extent(size)
        self.window = checks.positive_integer(window, "window")
        self.activation = named_activation(activation)

    @property
    def state(self) -> jax.ShapeDtypeStruct:
        return shape(self.channels, *self.size)

    @property
    def theta(self) -> dict[str, jax.ShapeDtypeStruct]:
        window = (self.window,) * len(self.size)
        filters = shape(self.channels, self.channels // self.groups, *window)
        return {"A": filters, "b": shape(self.channels)}

    def __call__(self, z: Array, theta: dict[str, Array]) -> Array:
        filters = theta["A"].reshape(self.groups, self.channels // self.groups, -1)
        moved = jnp.einsum("gcf,gfs->gcs", filters, self.patches(z))
        return moved.reshape(z.shape) + theta["b"].reshape(-1, *(1,) * len(self.size))

    def patches(self, z: Array) -> Float[Array, "groups features places"]:
        """σ of the channels of each group at all places of the window, for one state."""
        moved = shifts(self.activation(z), self.window)
        return moved.reshape(self.groups, -1, math.prod(z.shape[1:]))

    @property
    def visible_size(self) -> int:
        return self.channels

    def adjoint(self, q: Array, p: Array) -> dict[str, Array]:
        """Momenta times patches, summed over particles and places."""
        momenta = p.reshape(len(p), self.groups, self.channels // self.groups, -1)
        sums = jnp.einsum("kgcs,kgfs->gcf", momenta, jax.vmap(self.patches)(q))
        axes = (0, *range(2, p.ndim))
        return {"A": sums.reshape(self.theta["A"].shape), "b": jnp.sum(p, axis=axes)}
