"""Losses of one sample: `loss(prediction, target)`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax import _checks as checks

Loss = Callable[[Any, Any], Float[Array, ""]]


def squared_error(prediction: Array, target: Array) -> Float[Array, ""]:
    """The mean squared error."""
    return jnp.mean((prediction - target) ** 2)


def cross_entropy(logits: Float[Array, " classes"], label: Array) -> Float[Array, ""]:
    """The cross-entropy of logits with a class, given by its number."""
    return -jax.nn.log_softmax(logits)[label.astype(int)]


LOSSES: dict[str, Loss] = {"mse": squared_error, "cross_entropy": cross_entropy}


def loss_function(loss: Any) -> Loss:
    """The loss function named `loss`. A function is returned unchanged."""
    if callable(loss):
        return loss  # pyright: ignore[reportReturnType]
    if not isinstance(loss, str):
        raise ValueError(
            f"loss must be one of {', '.join(LOSSES)}, or a function of one prediction and one "
            f"target; got {loss!r}."
        )
    return LOSSES[checks.one_of(loss, LOSSES, "loss")]
