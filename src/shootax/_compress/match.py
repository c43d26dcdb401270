"""Fit an ensemble to given weights, or to given outputs."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax._controls import AbstractParticleControl, FrozenParticles, Particles
from shootax._ensemble import Ensemble, Gaussian
from shootax._fields import AbstractField
from shootax._flow import flow
from shootax._integrators import AbstractFixedStep
from shootax._maximisers import ClosedForm
from shootax._penalties import Quadratic
from shootax._trajectory import evaluate_at_stages


class Match(eqx.Module):
    """The error of an ensemble relative to a network.

    `theta` has the network's weights at every stage of every step. The error is relative, in the norm
    of the penalty, $Σ w R(θ - \\hat θ) / Σ w R(θ)$. With `data`, a pair of states and the outputs that
    they must lead to, it is the relative error of the outputs instead.
    """

    field: AbstractField
    penalty: Quadratic
    theta: PyTree[Array]
    integrator: AbstractFixedStep
    T: float = eqx.field(static=True)
    still: bool = eqx.field(static=True)
    data: Any = None
    readout: Any = None

    def control(self, ensemble: Ensemble) -> AbstractParticleControl:
        """The control with an ensemble: frozen particles if the weights are constant, otherwise moving
        ones."""
        kind = FrozenParticles if self.still else Particles
        return kind(self.field, ensemble, penalty=self.penalty, maximiser=ClosedForm(), T=self.T)

    def quadrature_weights(self) -> np.ndarray:
        """The quadrature weight of each stage of each step."""
        one = np.asarray(self.integrator.weights) / self.integrator.steps
        return np.broadcast_to(one, (self.integrator.steps, len(one)))

    def errors(self, ensemble: Ensemble) -> Float[Array, ""]:
        """The square of the relative error of θ(t)."""
        control = self.control(ensemble)
        if self.still:
            one = control.theta_at_start(self.field)
            gap = jax.tree.map(lambda a, b: a - b[0, 0], one, self.theta)
            return self.penalty(gap) / self.penalty(jax.tree.map(lambda b: b[0, 0], self.theta))
        system = control.system(self.field, 0)
        made = evaluate_at_stages(system, self.T, self.integrator, system.theta)
        return self._size(jax.tree.map(jnp.subtract, made, self.theta)) / self._size(self.theta)

    def misfit(self, ensemble: Ensemble) -> Float[Array, ""]:
        """The square of the relative error of the outputs."""
        states, wanted = self.data
        moved = flow(self.field, self.control(ensemble), states, integrator=self.integrator)
        gap = jax.tree.map(
            lambda a, b: jnp.sum((a - b) ** 2), jax.vmap(self.readout)(moved), wanted
        )
        size = jax.tree.map(
            lambda b: jnp.sum((b - jnp.mean(b, axis=0, keepdims=True)) ** 2), wanted
        )
        return jax.tree.reduce(jnp.add, gap) / jax.tree.reduce(jnp.add, size)

    def objective(self, ensemble: Ensemble) -> Float[Array, ""]:
        return self.errors(ensemble) if self.data is None else self.misfit(ensemble)

    def _size(self, theta: PyTree[Array]) -> Float[Array, ""]:
        values = jax.vmap(jax.vmap(self.penalty))(theta)
        return jnp.sum(jnp.asarray(self.quadrature_weights(), values.dtype) * values)

    def draw(self, particles: int, key: PRNGKeyArray) -> Ensemble:
        """Draw random particles, with the momenta whose θ is nearest to the first θ of the network."""
        position = Gaussian(std=1.0, hidden=1.0)
        drawn = Ensemble.draw(self.field, particles, position=position, key=key)
        drawn = jax.tree.map(lambda leaf: leaf.astype(_dtype(self.theta)), drawn)
        return Ensemble(drawn.q, nearest_momenta(self, drawn.q))


@eqx.filter_jit
def nearest_momenta(match: Match, q: PyTree[Array], iterations: int = 200) -> PyTree[Array]:
    """The momenta whose θ* is nearest to the first θ, by least squares: θ* is linear in the momenta."""
    theta = jax.tree.map(lambda leaf: leaf[0, 0], match.theta)
    zero = jax.tree.map(jnp.zeros_like, q)

    def star(p: PyTree[Array]) -> PyTree[Array]:
        return ClosedForm()(match.field, match.penalty, q, p, None).theta

    def force(p: PyTree[Array]) -> PyTree[Array]:
        """Half the gradient of $R(θ^*(p) - θ)$ in $p$."""
        return jax.grad(lambda p: match.penalty(jax.tree.map(jnp.subtract, star(p), theta)))(p)

    right = jax.tree.map(jnp.negative, force(zero))
    ridge = 1e-6 * jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(q)))

    def normal(p: PyTree[Array]) -> PyTree[Array]:
        return jax.tree.map(lambda a, b, c: a + b + ridge.astype(c.dtype) * c, force(p), right, p)

    return jax.scipy.sparse.linalg.cg(normal, right, maxiter=iterations)[0]


@eqx.filter_jit
def fitted(match: Match, ensemble: Ensemble, iterations: int) -> tuple[Ensemble, Array]:
    """Return the ensemble after `iterations` iterations of L-BFGS, and its squared error."""
    arrays, rest = eqx.partition(match, eqx.is_inexact_array)

    def value(ensemble: Ensemble) -> Array:
        return eqx.combine(arrays, rest).objective(ensemble)

    optimiser = optax.lbfgs(memory_size=20)
    with_state = optax.value_and_grad_from_state(value)

    def step(carry: tuple, _: None) -> tuple[tuple, None]:
        ensemble, state = carry
        now, gradient = with_state(ensemble, state=state)
        update, state = optimiser.update(
            gradient, state, ensemble, value=now, grad=gradient, value_fn=value
        )
        return (optax.apply_updates(ensemble, update), state), None

    start = (ensemble, optimiser.init(eqx.filter(ensemble, eqx.is_inexact_array)))
    (ensemble, _), _ = jax.lax.scan(step, start, None, length=iterations)
    return ensemble, value(ensemble)


def _dtype(tree: PyTree[Array]) -> Any:
    return jnp.result_type(*jax.tree.leaves(tree))
