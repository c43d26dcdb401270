"""Activations by name. Users may pass any elementwise function instead."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from shootax import _checks as checks

Activation = Callable[[Array], Array]


def identity(x: Array) -> Array:
    return x


def relu(x: Array) -> Array:
    return jnp.where(x > 0, x, 0)  # the derivative at zero is zero


def gelu(x: Array) -> Array:
    return jax.nn.gelu(x, approximate=False)


ACTIVATIONS: dict[str, Activation] = {
    "identity": identity,
    "relu": relu,
    "tanh": jnp.tanh,
    "softplus": jax.nn.softplus,
    "sigmoid": jax.nn.sigmoid,
    "gelu": gelu,
}


def is_piecewise_linear(function: Activation) -> bool:
    """Whether the second derivative is known to vanish, so that it need not be computed."""
    return function in (identity, relu) or getattr(function, "straight", False)


def activation(name: str | Activation) -> Activation:
    """The elementwise function called `name`; a function is returned unchanged."""
    if callable(name):
        return name
    return ACTIVATIONS[checks.one_of(name, ACTIVATIONS, "activation")]
