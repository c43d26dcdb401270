"""Shooting for any field, by differentiating the Hamiltonian."""

import jax
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._hamiltonian import hamilton_equations
from shootax._maximisers import AbstractMaximiser
from shootax._penalties import Penalty
from shootax._systems.base import AbstractSystem, ParticleState, State, TimePoint


class AutomaticSystem(AbstractSystem):
    """Hamilton's equations (Eq. EqShootingForward) by automatic differentiation (App. Automatic
    shooting).

    For maximisers that need no guess; the others use a [`WarmStartSystem`][].
    """

    field: AbstractField
    penalty: Penalty
    maximiser: AbstractMaximiser
    particles: ParticleState

    def jumps(self) -> tuple[float, ...]:
        return ()

    def start(self) -> ParticleState:
        return self.particles

    def join(self, particles: ParticleState, z: PyTree[Array]) -> State:
        return State((particles.q, z), particles.p)

    def split(self, y: State) -> tuple[ParticleState, PyTree[Array]]:
        q, z = y.z
        return ParticleState(q, y.p), z

    def __call__(self, point: TimePoint, y: State) -> State:
        q, z = y.z
        theta = self._theta(y)
        dq, dp = hamilton_equations(self.field, self.penalty, q, y.p, theta)
        dz = jax.vmap(self.field, in_axes=(0, None))(z, theta)
        return State((dq, dz), dp)

    def packed_theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        return self.field.pack(self._theta(y))

    def _theta(self, y: State) -> PyTree[Array]:
        return self.maximiser(self.field, self.penalty, y.z[0], y.p, None).theta
