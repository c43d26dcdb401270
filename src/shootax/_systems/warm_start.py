"""Shooting with an inner maximisation for θ*, warm-started all along the path.

The guess for θ* is integrated together with the particles, by $\\dot θ^* = ∂_qθ^*\\,\\dot q +
∂_pθ^*\\,\\dot p$: a predictor as accurate as the integrator itself, which the maximiser corrects at
every evaluation. For an integrator, the guess is just another part of the state.
"""

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._hamiltonian import hamilton_equations, hamiltonian
from shootax._maximisers import AbstractIterative
from shootax._penalties import Penalty
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint


class WarmStartSystem(AbstractSystem):
    """Hamilton's equations with an inner maximisation at each evaluation."""

    field: AbstractField
    penalty: Penalty
    maximiser: AbstractIterative
    particles: ParticleState

    @property
    def rolled(self) -> bool:
        return True

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        q, p = self.particles.q, self.particles.p
        return ParticleState(q, p, first_guess(self.field, self.penalty, self.maximiser, q, p))

    def join(self, particles: ParticleState, z: PyTree[Array]) -> State:
        return State((particles.q, z, particles.guess), particles.p)

    def split(self, y: State) -> tuple[ParticleState, PyTree[Array]]:
        q, z, guess = y.z
        return ParticleState(q, y.p, guess), z

    def __call__(self, point: TimePoint, y: State) -> State:
        q, z, guess = y.z
        theta, dq, dp = self._solved(q, y.p, guess)
        dz = jax.vmap(self.field, in_axes=(0, None))(z, theta)
        # The guess does not change the solution, so no training gradient goes through it.
        dtheta = jax.lax.stop_gradient(self._drift(theta, (q, y.p), (dq, dp)))
        return State((dq, dz, dtheta), dp)

    def _solved(self, q: PyTree[Array], p: PyTree[Array], guess: PyTree[Array]) -> tuple:
        """$θ^*, \\dot q, \\dot p$."""
        if self.maximiser.smooth:
            theta = self.maximiser(self.field, self.penalty, q, p, guess).theta
            return theta, *hamilton_equations(self.field, self.penalty, q, p, theta)

        def reduced(q: PyTree[Array]) -> tuple[Array, PyTree[Array]]:
            theta = self.maximiser(self.field, self.penalty, q, p, guess).theta
            return -hamiltonian(self.field, self.penalty, q, p, theta), theta

        dp, theta = jax.grad(reduced, has_aux=True)(q)
        return theta, jax.vmap(self.field, in_axes=(0, None))(q, theta), dp

    def packed_theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        q, _, guess = y.z
        return self.field.pack(self.maximiser(self.field, self.penalty, q, y.p, guess).theta)

    def _drift(self, theta: PyTree[Array], at: tuple, along: tuple) -> PyTree[Array]:
        """$\\dot θ^*$, from the maximiser's own derivative at the solution that it starts from."""
        theta, at, along = jax.lax.stop_gradient((theta, at, along))

        def star(q: PyTree[Array], p: PyTree[Array]) -> PyTree[Array]:
            return self.maximiser.refine(self.field, self.penalty, q, p, theta)

        return jax.jvp(star, at, along)[1]


def first_guess(
    field: AbstractField,
    penalty: Penalty,
    maximiser: AbstractIterative,
    q: PyTree[Array],
    p: PyTree[Array],
) -> PyTree[Array]:
    """θ* at the start, searched for without a guess and without a gradient."""
    frozen = jax.tree.map(
        lambda leaf: jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf,
        (field, penalty, q, p),
    )
    return jax.lax.stop_gradient(maximiser.search(*frozen))
