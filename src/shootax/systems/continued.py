"""Shooting where θ* is an inner maximisation, warm-started all along the path.

The guess for θ* is integrated together with the particles, by $\\dot θ^* = ∂_qθ^*\\,\\dot q +
∂_pθ^*\\,\\dot p$: a predictor as accurate as the integrator itself, which the maximiser corrects at
every evaluation. An integrator sees one more thing that moves, and nothing else changes.
"""

from typing import NamedTuple

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from shootax.fields import AbstractField
from shootax.fields.rows import pack
from shootax.hamiltonian import hamilton_equations
from shootax.maximisers import AbstractIterative
from shootax.penalties import Penalty
from shootax.systems.base import AbstractSystem, Moment, ParticleState, State


class Guided(NamedTuple):
    """Positions of the particles, and the guess of θ* that goes along with them."""

    q: PyTree[Array]
    guess: PyTree[Array]


class ContinuedSystem(AbstractSystem):
    """Hamilton's equations with an inner maximisation at each evaluation."""

    field: AbstractField
    penalty: Penalty
    maximiser: AbstractIterative
    particles: ParticleState
    jumps: tuple[float, ...] = eqx.field(static=True, default=())

    def start(self) -> ParticleState:
        q, p = self.particles
        return ParticleState(Guided(q, first_guess(self.field, self.penalty, self.maximiser, q, p)), p)  # fmt: skip

    def join(self, particles: ParticleState, z: PyTree[Array]) -> State:
        return State((particles.q, z), particles.p)

    def split(self, rows: PyTree[Array]) -> tuple[PyTree[Array], PyTree[Array]]:
        return rows

    def phase(self, y: State) -> ParticleState:
        return ParticleState(y.rows[0].q, y.p)

    def __call__(self, moment: Moment, y: State) -> State:
        (q, guess), z = y.rows

        def star(q: PyTree[Array], p: PyTree[Array]) -> PyTree[Array]:
            return self.maximiser(self.field, self.penalty, q, p, guess).theta

        theta = star(q, y.p)
        dq, dp = hamilton_equations(self.field, self.penalty, q, y.p, theta)
        dz = jax.vmap(self.field, in_axes=(0, None))(z, theta)
        # The guess does not change the solution, so no training gradient goes through it.
        point, direction = jax.lax.stop_gradient(((q, y.p), (dq, dp)))
        _, dtheta = jax.jvp(star, point, direction)
        return State((Guided(dq, jax.lax.stop_gradient(dtheta)), dz), dp)

    def packed_theta(self, moment: Moment, y: State) -> PyTree[Array]:
        (q, guess), _ = y.rows
        return pack(self.field, self.maximiser(self.field, self.penalty, q, y.p, guess).theta)


def first_guess(
    field: AbstractField,
    penalty: Penalty,
    maximiser: AbstractIterative,
    q: PyTree[Array],
    p: PyTree[Array],
) -> PyTree[Array]:
    """θ* at the start, looked for without a guess and without a gradient."""
    frozen = jax.tree.map(
        lambda leaf: jax.lax.stop_gradient(leaf) if eqx.is_inexact_array(leaf) else leaf,
        (field, penalty, q, p),
    )
    return jax.lax.stop_gradient(maximiser.search(*frozen))
