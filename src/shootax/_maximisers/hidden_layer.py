"""Functions shared by the maximisers of a single hidden layer. Neurons $u = (w, b)$ are rows."""

import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from shootax._fields import HiddenLayer


def incoming(theta: PyTree[Array]) -> Float[Array, "width dim_1"]:
    """The incoming weights and the bias of each neuron."""
    return jnp.concatenate([theta["theta2"], theta["b2"][:, None]], axis=1)


def pulls(
    layer: HiddenLayer, q: Array, p: Array, u: Float[Array, "width dim_1"]
) -> Float[Array, "width dim"]:
    """$g(w, b) = Σ_i p_i σ(⟨w, q_i⟩ + b)$ of each neuron."""
    return layer.activation(arguments(q, u)) @ p


def arguments(q: Array, u: Float[Array, "width dim_1"]) -> Float[Array, "width K"]:
    """$⟨w, q_i⟩ + b$ of each neuron and particle."""
    return u[:, :-1] @ q.T + u[:, -1:]


def weights(
    outgoing: Float[Array, "width dim"], u: Float[Array, "width dim_1"]
) -> dict[str, Array]:
    """θ without its outer bias."""
    return {"theta1": outgoing.T, "theta2": u[:, :-1], "b2": u[:, -1]}
