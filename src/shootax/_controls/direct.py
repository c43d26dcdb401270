"""Weights that are free parameters themselves: constant, or piecewise constant in time."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._controls.base import (
    AbstractControl,
    Quadrature,
    checked_horizon,
    checked_weight_penalty,
    draw_theta,
)
from shootax._fields import AbstractField
from shootax._integrators import AbstractIntegrator
from shootax._penalties import AbstractPenalty, Penalty
from shootax._systems import AbstractSystem, ConstantPath, PathSystem, PiecewisePath


def check_control(field: AbstractField, penalty: Penalty | None) -> None:
    """Raise unless these are a field and a penalty."""
    checks.instance(field, AbstractField, "field", "Static(UpDown(dim=2), key=key)")
    if penalty is not None:
        checks.instance(penalty, Penalty, "penalty", "penalty=Quadratic()")


def check_drawn(
    field: AbstractField, penalty: Penalty | None, scale: float, key: PRNGKeyArray
) -> None:
    """Raise unless free weights can be drawn from these."""
    check_control(field, penalty)
    checks.non_negative_number(scale, "scale")
    checks.random_key(key)


class Static(AbstractControl):
    """One free θ for all times. The paper's *static direct*: an (augmented) neural ODE.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        key = jax.random.key(0)
        net = sx.Net(field, sx.Static(field, key=key), key=key)
        ```
    """

    theta: PyTree[Array]
    penalty: AbstractPenalty
    T: float = eqx.field(static=True)

    def __init__(
        self,
        field: AbstractField,
        *,
        penalty: AbstractPenalty | None = None,
        T: float = 1.0,
        scale: float = 1.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `field`, `penalty`, `T`: as in [`shootax.Particles`][].
        - `scale`: matrices start uniform in $±scale/\\sqrt{fan\\,in}$, biases at zero.
        - `key`: a JAX random key.
        """
        check_drawn(field, penalty, scale, key)
        self.theta = draw_theta(field, scale, key)
        self.penalty = checked_weight_penalty(field, penalty)
        self.T = checked_horizon(T)

    def system(self, field: AbstractField, batch: int) -> AbstractSystem:
        return PathSystem(field, ConstantPath(field.pack(self.theta)))

    def quadrature(self, integrator: AbstractIntegrator) -> Quadrature:
        return Quadrature.at(np.array([0.0]), np.array([self.T]))

    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        return self.T * self.penalty(self.theta)


class Piecewise(AbstractControl):
    """A free θ for each of $B$ equal blocks of time. The paper's *dynamic direct*.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        control = sx.Piecewise(field, 5, key=jax.random.key(0))
        print(control.theta["theta1"].shape)  # (5, 1, 4)
        ```
    """

    theta: PyTree[Array]
    penalty: AbstractPenalty
    T: float = eqx.field(static=True)
    blocks: int = eqx.field(static=True)

    def __init__(
        self,
        field: AbstractField,
        blocks: int = 5,
        *,
        penalty: AbstractPenalty | None = None,
        T: float = 1.0,
        scale: float = 1.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:** `blocks`, the number $B$ of blocks; the rest as in [`shootax.Static`][]."""
        self.blocks = checks.positive_integer(blocks, "blocks")
        check_drawn(field, penalty, scale, key)
        self.theta = draw_theta(field, scale, key, self.blocks)
        self.penalty = checked_weight_penalty(field, penalty)
        self.T = checked_horizon(T)

    def system(self, field: AbstractField, batch: int) -> AbstractSystem:
        packed = jax.vmap(lambda theta: field.pack(theta))(self.theta)
        jumps = tuple(self.T * b / self.blocks for b in range(1, self.blocks))
        return PathSystem(field, PiecewisePath(packed, self.T), jumps)

    def quadrature(self, integrator: AbstractIntegrator) -> Quadrature:
        width = self.T / self.blocks
        middles = (np.arange(self.blocks) + 0.5) * width
        return Quadrature.at(middles, np.full(self.blocks, width))

    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        return self.T / self.blocks * jnp.sum(jax.vmap(self.penalty)(self.theta))
