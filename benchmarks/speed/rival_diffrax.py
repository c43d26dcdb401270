"""The same model as a competent user of Diffrax would write it.

The model is an Equinox module with the equations of the paper, and θ is built at each evaluation. It
uses Diffrax's own Runge-Kutta solver with the classical tableau and a constant step, and as many
checkpoints as steps. So nothing is computed twice; this is the fastest adjoint here. Only what the loss
needs is saved. Gradient and Adam are compiled together, exactly as for our own model.
"""

from typing import Any, ClassVar

import diffrax
import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from benchmarks.speed.adam import Runner
from benchmarks.speed.cases import DATA_WEIGHT, W3, Case, Start


class ClassicalRungeKutta(diffrax.AbstractERK):
    """RK4, which Diffrax does not include."""

    tableau: ClassVar[diffrax.ButcherTableau] = diffrax.ButcherTableau(
        c=np.array([0.5, 0.5, 1.0]),
        b_sol=np.array([1 / 6, 1 / 3, 1 / 3, 1 / 6]),
        b_error=np.array([1 / 6 - 1, 1 / 3, 1 / 3, 1 / 6]),
        a_lower=(np.array([0.5]), np.array([0.0, 0.5]), np.array([0.0, 0.0, 1.0])),
    )
    interpolation_cls: ClassVar[Any] = diffrax.ThirdOrderHermitePolynomialInterpolation.from_k

    def order(self, terms: Any) -> int:
        return 4


class UpDownNet(eqx.Module):
    """Particles `(q, u)`, momenta `(p, r)` and an affine lift."""

    q: Array
    u: Array
    p: Array
    r: Array
    weight: Array
    bias: Array

    def theta(self, q: Array, u: Array, p: Array, r: Array) -> tuple[Array, ...]:
        """θ1, b1, θ2, b2, θ3."""
        s = jnp.maximum(u, 0)
        return p.T @ s, jnp.sum(p, axis=0), r.T @ q, jnp.sum(r, axis=0), r.T @ s / W3

    def field(self, t: Any, y: tuple[Array, ...], args: Any) -> tuple[Array, ...]:
        """The time derivatives of particles, momenta and data."""
        q, u, p, r, x, v = y
        theta1, b1, theta2, b2, theta3 = self.theta(q, u, p, r)

        def velocity(x: Array, v: Array) -> tuple[Array, Array]:
            s = jnp.maximum(v, 0)
            return s @ theta1.T + b1[None], x @ theta2.T + b2[None] + s @ theta3.T

        dp = -r @ theta2
        dr = -jnp.where(u > 0, p @ theta1 + r @ theta3, 0)
        return *velocity(q, u), dp, dr, *velocity(x, v)

    def penalty(self) -> Array:
        """R(θ(0))."""
        *rest, theta3 = self.theta(self.q, self.u, self.p, self.r)
        return 0.5 * (sum(jnp.sum(part**2) for part in rest) + W3 * jnp.sum(theta3**2))

    def __call__(self, x: Array, case: Case) -> Array:
        """x at the end `(1, batch, dim)` or at all nodes `(steps + 1, batch, dim)`."""
        y0 = (self.q, self.u, self.p, self.r, x, x @ self.weight.T + self.bias[None])
        dtype, nodes = x.dtype, jnp.linspace(0, case.T, case.steps + 1, dtype=x.dtype)

        def only_x(t: Any, y: tuple[Array, ...], args: Any) -> Array:
            return y[4]

        at_nodes, at_end = diffrax.SaveAt(ts=nodes, fn=only_x), diffrax.SaveAt(t1=True, fn=only_x)
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(self.field),
            ClassicalRungeKutta(),
            jnp.zeros((), dtype),
            jnp.asarray(case.T, dtype),
            jnp.asarray(case.T / case.steps, dtype),
            y0,
            saveat=at_nodes if case.nodes else at_end,
            stepsize_controller=diffrax.ConstantStepSize(),
            adjoint=diffrax.RecursiveCheckpointAdjoint(checkpoints=case.steps + 1),
            max_steps=case.steps + 1,
        )
        assert solution.ys is not None
        return solution.ys


def objective(case: Case):
    """`objective(net, x, y)`: 100 · data + penalty."""

    def value(net: UpDownNet, x: Array, y: Array) -> Array:
        out = net(x, case) if case.nodes else net(x, case)[0]
        misfit = jnp.mean(jnp.sum((out - y) ** 2, axis=-1))
        return DATA_WEIGHT * misfit + case.T * net.penalty()

    return value


def runner(case: Case, begin: Start) -> Runner:
    """A training step."""
    model = UpDownNet(**{name: jnp.asarray(value) for name, value in begin.parameters.items()})
    return Runner(model, objective(case), jnp.asarray(begin.x), jnp.asarray(begin.y))
