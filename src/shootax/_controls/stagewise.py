"""Weights, or the particles that generate them, stored stage by stage: a plain residual network."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from shootax._controls.base import AbstractControl, Quadrature
from shootax._fields import AbstractField
from shootax._integrators import AbstractFixedStep, AbstractIntegrator
from shootax._penalties import AbstractParticlePenalty, Penalty, Quadratic
from shootax._systems import AbstractSystem, CarriedSystem, PathSystem, State, TimePoint


class StagewisePath(eqx.Module):
    """θ by the indices of the step and of the stage."""

    thetas: PyTree[Array]

    def __call__(self, point: TimePoint) -> PyTree[Array]:
        return jax.tree.map(lambda leaf: leaf[point.step, point.stage], self.thetas)


class Stagewise(AbstractControl):
    """A θ for each stage of each step of one fixed-step integrator; made by [`shootax.bake`][].

    It works only with that integrator, and returns states only at grid points.

    **Arguments:**

    - `theta`: the weights, with leading axes for steps and stages.
    - `penalty`: the penalty of the original control.
    - `fractions`: the position of each stage in a step, from 0 to 1.
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
        return _quadrature(self)

    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        """$∫R\\, dt$ by the integrator's own rule."""
        if isinstance(self.penalty, AbstractParticlePenalty):
            raise ValueError(
                f"{type(self.penalty).__name__} depends on the particles, which a baked model no "
                "longer has. Use the penalty of the original model."
            )
        rates = jax.vmap(jax.vmap(self.penalty))(self.theta)
        weights = jnp.asarray(self.quadrature_weights, rates.dtype)
        return self.T / rates.shape[0] * jnp.sum(rates @ weights)

    @property
    def steps(self) -> int:
        """The number of steps."""
        return jax.tree.leaves(self.theta)[0].shape[0]

    def check(self, integrator: AbstractIntegrator) -> None:
        """Raise unless the weights are those of this integrator's stages."""
        _check(self, integrator)


class StagewiseParticles(AbstractControl):
    """The particles at each stage of each step of one fixed-step integrator, which need not be
    integrated again; made by [`shootax.bake`][] with `form="auto"` or `form="kernel"`.

    Kernels move the data, and θ is never built. This takes less time and memory than weights if there
    are few particles and the state is large. It works only with that integrator, and returns states
    only at grid points.

    **Arguments:**

    - `q`, `p`: positions and momenta, with leading axes for steps and stages.
    - `penalty`: the penalty of the original control.
    - `fractions`: the position of each stage in a step, from 0 to 1.
    - `quadrature_weights`: the weight of each stage in integrals over a step.
    - `T`: the final time.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        control = sx.bake(net, form="kernel").control
        print(type(control).__name__, control.q.shape)  # StagewiseParticles (10, 4, 3, 5)
        ```
    """

    q: Float[Array, "steps stages particles state"]
    p: Float[Array, "steps stages particles state"]
    penalty: Quadratic
    fractions: tuple[float, ...] = eqx.field(static=True)
    quadrature_weights: tuple[float, ...] = eqx.field(static=True)
    T: float = eqx.field(static=True)

    def system(self, field: AbstractField, batch: int) -> AbstractSystem:
        blocks: Any = field.as_blocks()
        return CarriedSystem(blocks, self.penalty, self.q, self.p)

    def quadrature(self, integrator: AbstractIntegrator) -> Quadrature:
        return _quadrature(self)

    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        """$∫R\\, dt$ by the integrator's own rule."""
        system, quadrature = self.system(field, 0), _quadrature(self)
        empty = State(None, None)
        rates = jax.vmap(lambda point: self.penalty(system.theta(point, empty)))(quadrature.points)
        return jnp.sum(rates * jnp.asarray(quadrature.weights, rates.dtype))

    @property
    def steps(self) -> int:
        """The number of steps."""
        return self.q.shape[0]

    def check(self, integrator: AbstractIntegrator) -> None:
        """Raise unless the particles are those of this integrator's stages."""
        _check(self, integrator)


BAKED = (Stagewise, StagewiseParticles)
"""The controls that [`shootax.bake`][] makes."""


def _quadrature(control: Stagewise | StagewiseParticles) -> Quadrature:
    stages, h = len(control.fractions), control.T / control.steps
    step, stage = (a.ravel() for a in np.mgrid[: control.steps, :stages])
    t = (step + np.asarray(control.fractions)[stage]) * h
    weights = h * np.asarray(control.quadrature_weights)[stage]
    return Quadrature(TimePoint(t, t, step, stage), weights)


def _check(control: Stagewise | StagewiseParticles, integrator: AbstractIntegrator) -> None:
    if (
        not isinstance(integrator, AbstractFixedStep)
        or integrator.steps != control.steps
        or integrator.fractions != control.fractions
    ):
        raise ValueError(
            f"These weights were baked for {control.steps} steps with stages at {control.fractions} of "
            f"each step; they cannot be used with {integrator}. Bake the original model again."
        )
