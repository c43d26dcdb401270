"""An Optax optimiser of the user's own, looked at before training."""

import re
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, PyTree

STEPS = 3
"""How many updates are tried: a warm-up may make nothing of the first."""


def check_optimizer(optimizer: Any, model: Any) -> None:
    """Raises unless `optimizer` is a complete one, whose updates go down the gradient."""
    if not isinstance(optimizer, optax.GradientTransformation):
        raise ValueError(
            f"optimizer must be an Optax optimiser such as optax.adam(1e-2), got {optimizer!r}."
        )
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
        along = float(rise(parameters))
    except TypeError as error:
        if "required" not in str(error):
            raise
        raise ValueError(
            "The optimizer needs more than the gradient and the parameters, as a line search does "
            f"({error}), and `fit` has no more to give. Use another one, such as optax.adam(1e-2)."
        ) from error
    if along > 0:
        raise ValueError(
            "The optimizer goes up the gradient: its updates have the sign of the gradient, as those "
            "of optax.scale_by_adam() have. Give a complete optimiser such as optax.adam(1e-2), or "
            "chain yours with a learning rate: optax.chain(optax.scale_by_adam(), "
            "optax.scale_by_learning_rate(1e-2))."
        )


def program_of(optimizer: optax.GradientTransformation, model: Any) -> str:
    """The computation of an update as text: it differs when the numbers of an optimiser do."""
    parameters = eqx.filter(model, eqx.is_inexact_array)
    state = jax.eval_shape(optimizer.init, parameters)
    program = jax.make_jaxpr(optimizer.update)(parameters, state, parameters)
    # Functions are printed with where they are in memory.
    return re.sub(r"0x[0-9a-f]+", "", str(program))
