"""Check the user's Optax optimisers before training."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, PyTree

STEPS = 3
"""The number of updates to try, because with a warm-up the first one may be zero."""


def check_complete(optimizer: optax.GradientTransformation, model: Any) -> None:
    """Raise an error if the updates of an optimiser ascend the gradient."""
    if _rise(optimizer, model) > 0:
        raise ValueError(
            "The optimizer goes up the gradient: its updates have the sign of the gradient, as with "
            "optax.scale_by_adam(). Give a complete optimiser such as optax.adam(1e-2), or pass yours "
            "as sx.Optimizer(1e-2, transform=...)."
        )


def check_transform(transform: optax.GradientTransformation, model: Any) -> None:
    """Raise an error if a transformation descends the gradient, and so is a complete optimiser."""
    if _rise(transform, model) < 0:
        raise ValueError(
            "The transform goes down the gradient, like a complete optimiser such as optax.lion(1e-3). "
            "Pass a complete optimiser as fit(..., optimizer=optax.lion(1e-3)), or give a transformation "
            "such as optax.scale_by_lion() as the transform."
        )


def _rise(optimizer: optax.GradientTransformation, model: Any) -> float:
    """The sum of the first updates for a gradient of ones."""
    parameters = eqx.filter(model, eqx.is_inexact_array)

    @jax.jit
    def rise(parameters: PyTree[Array]) -> Array:
        still = jax.tree.map(jnp.zeros_like, parameters)
        gradient = jax.tree.map(jnp.ones_like, parameters)
        state, total = optimizer.init(still), jnp.zeros(())
        for _ in range(STEPS):
            updates, state = optimizer.update(gradient, state, still)
            total += sum(jnp.sum(leaf) for leaf in jax.tree.leaves(updates))
        return total

    try:
        return float(rise(parameters))
    except TypeError as error:
        if "required" not in str(error):
            raise
        raise ValueError(
            "The optimizer needs more than the gradient and the parameters, as a line search does "
            f"({error}), but `fit` passes only these. Use another optimiser, such as optax.adam(1e-2)."
        ) from error
