"""Weights listed stage by stage: a plain residual network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from shootax._controls.base import AbstractControl, Quadrature
from shootax._fields import AbstractField
from shootax._integrators import AbstractFixedStep, AbstractIntegrator
from shootax._penalties import AbstractParticlePenalty, Penalty
from shootax._systems import AbstractSystem, PathSystem, TimePoint


class StagewisePath(eqx.Module):
    """θ by the numbers of the step and of the stage."""

    thetas: PyTree[Array]

    def __call__(self, point: TimePoint) -> PyTree[Array]:
        return jax.tree.map(lambda leaf: leaf[point.step, point.stage], self.thetas)


class Stagewise(AbstractControl):
    """A θ for each stage of each step of one fixed-step integrator; made by [`shootax.bake`][].

    It goes with that integrator alone, and reports states at grid points only.

    **Arguments:**

    - `theta`: the weights, with leading axes for steps and stages.
    - `penalty`: that of the original control.
    - `fractions`: where in a step each stage stands, from 0 to 1.
    - `quadrature_weights`: the weight of each stage in integrals over a step.
    - `T`: the final time.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        control = sx.bake(net).control
        print(type(control).__name__, control.theta["b1"].shape)
        ```
    """

    theta: PyTree[Array]
    penalty: Penalty
    fractions: tuple[float, ...] = eqx.field(static=True)
    quadrature_weights: tuple[float, ...] = eqx.field(static=True)
    T: float = eqx.field(static=True)

    def system(self, field: AbstractField, batch: int) -> AbstractSystem:
        packed = jax.vmap(jax.vmap(lambda theta: field.pack(theta)))(self.theta)
        return PathSystem(field, StagewisePath(packed))

    def quadrature(self, integrator: AbstractIntegrator) -> Quadrature:
        steps, stages = jax.tree.leaves(self.theta)[0].shape[:2]
        h = self.T / steps
        step, stage = (a.ravel() for a in np.mgrid[:steps, :stages])
        t = (step + np.asarray(self.fractions)[stage]) * h
        return Quadrature(
            TimePoint(t, t, step, stage), h * np.asarray(self.quadrature_weights)[stage]
        )

    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        """$∫R\\, dt$ by the integrator's own rule."""
        if isinstance(self.penalty, AbstractParticlePenalty):
            raise ValueError(
                f"{type(self.penalty).__name__} depends on the particles, which a baked model no "
                "longer has. Ask the original model for its penalty."
            )
        rates = jax.vmap(jax.vmap(self.penalty))(self.theta)
        weights = jnp.asarray(self.quadrature_weights, rates.dtype)
        return self.T / rates.shape[0] * jnp.sum(rates @ weights)

    def check(self, integrator: AbstractIntegrator) -> None:
        """Raises unless the weights are those of this integrator's stages."""
        steps = jax.tree.leaves(self.theta)[0].shape[0]
        if (
            not isinstance(integrator, AbstractFixedStep)
            or integrator.steps != steps
            or integrator.fractions != self.fractions
        ):
            raise ValueError(
                f"These weights were baked for {steps} steps with stages at {self.fractions} of each "
                f"step; they cannot be used with {integrator}. Bake the original model again."
            )
