"""The Barron penalty of a single hidden layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from shootax import _checks as checks
from shootax._penalties.base import AbstractPenalty


class Barron(AbstractPenalty):
    """$R(θ) = \\tfrac1{2d'} Σ_j \\|θ_1^j\\|_2^2\\, (\\|[θ_2]_j\\|_1 + |[b_2]_j|)^2$
    (Eq. EqBarronNormNotOptimized), and $\\tfrac w2 |b_1|^2$ where the field has an outer bias.

    Here $θ_1^j$ are the outgoing weights of neuron $j$ of $d'$ neurons, and $[θ_2]_j, [b_2]_j$ its
    incoming ones. The penalty is not smooth. With ReLU, neither it nor the field changes when a neuron
    is rescaled, $(θ_1^j, [θ_2]_j, [b_2]_j) → (θ_1^j/s, s[θ_2]_j, s[b_2]_j)$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.SingleHiddenLayer(dim=2, width=8, activation="relu")
        control = sx.Particles.draw(field, 5, penalty=sx.Barron(), key=jax.random.key(0))
        ```
    """

    bias: float = eqx.field(static=True)

    def __init__(self, bias: float = 1.0):
        """**Arguments:** `bias`, the strength $w$ of the penalty on the outer bias $b_1$."""
        self.bias = checks.positive_number(bias, "bias")

    def __call__(self, theta: dict[str, Array]) -> Float[Array, ""]:
        outer = jnp.sum(theta["theta1"] ** 2, axis=0)
        inner = intake(theta)
        cost = 0.5 * jnp.mean(outer * inner**2)
        return cost + 0.5 * self.bias * jnp.sum(theta["b1"] ** 2) if "b1" in theta else cost

    def check(self, theta: dict[str, jax.ShapeDtypeStruct]) -> None:
        """Raise unless θ is that of a single hidden layer."""
        if not (isinstance(theta, dict) and {"theta1", "theta2", "b2"} <= set(theta)):
            names = ", ".join(theta) if isinstance(theta, dict) else type(theta).__name__
            raise ValueError(
                "The Barron penalty is for a single hidden layer, with weights theta1, theta2, b2; "
                f"got a field with {names}. Use SingleHiddenLayer, or another penalty."
            )


def intake(theta: dict[str, Array]) -> Float[Array, " width"]:
    """$\\|[θ_2]_j\\|_1 + |[b_2]_j|$ of each neuron."""
    return jnp.sum(jnp.abs(theta["theta2"]), axis=1) + jnp.abs(theta["b2"])
