"""Data under weights that are a known function of time."""

from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._systems.base import AbstractSystem, State, TimePoint


class PathSystem(AbstractSystem):
    """$\\dot z = f(z, θ(t))$ with `path(point)` giving θ(t), packed for the field."""

    field: AbstractField
    path: Callable[[TimePoint], PyTree[Array]]
    jump_times: tuple[float, ...] = eqx.field(static=True, default=())

    def jumps(self) -> tuple[float, ...]:
        return self.jump_times

    def start(self) -> None:
        return None

    def join(self, particles: None, z: PyTree[Array]) -> State:
        return State(z, None)

    def split(self, y: State) -> tuple[None, PyTree[Array]]:
        return None, y.z

    def __call__(self, point: TimePoint, y: State) -> State:
        return State(self.field.batch_velocity(y.z, self.path(point)), None)

    def packed_theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        return self.path(point)
