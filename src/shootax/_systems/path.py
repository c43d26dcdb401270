"""Data under weights that are a known function of time."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField
from shootax._systems.base import AbstractSystem, Pieces, State, TimePoint


class ConstantPath(eqx.Module):
    """The same θ at all times."""

    theta: PyTree[Array]

    def __call__(self, point: TimePoint) -> PyTree[Array]:
        return self.theta


class PiecewisePath(eqx.Module):
    """The θ of block $\\lfloor t/Δt \\rfloor$."""

    thetas: PyTree[Array]
    T: float = eqx.field(static=True)

    @property
    def blocks(self) -> int:
        return jax.tree.leaves(self.thetas)[0].shape[0]

    def __call__(self, point: TimePoint) -> PyTree[Array]:
        passed = jnp.floor(point.inside * self.blocks / self.T).astype(int)
        block = jnp.clip(passed, 0, self.blocks - 1)
        return jax.tree.map(lambda leaf: leaf[block], self.thetas)


class PathSystem(AbstractSystem):
    """$\\dot z = f(z, θ(t))$ (Eq. EqFlow), with θ(t) given.

    **Arguments:**

    - `field`: the vector field.
    - `path`: a function of a [`shootax.extend.TimePoint`][] that gives θ(t), packed by `field.pack`.
    - `jump_times`: the times at which θ(t) jumps.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        field = sx.Affine(dim=2)
        theta = {"A": jnp.eye(2), "b": jnp.ones(2)}
        system = sx.extend.PathSystem(field, lambda point: field.pack(theta))
        ```
    """

    field: AbstractField
    path: Callable[[TimePoint], PyTree[Array]]
    jump_times: tuple[float, ...] = eqx.field(static=True, default=())

    def jumps(self) -> tuple[float, ...]:
        return self.jump_times

    def pieces(self, steps: int) -> Pieces | None:
        if not isinstance(self.path, PiecewisePath) or steps % self.path.blocks:
            return None
        return Pieces(lambda theta: PathSystem(self.field, ConstantPath(theta)), self.path.thetas)

    def start(self) -> None:
        return None

    def join(self, particles: None, z: PyTree[Array]) -> State:
        return State(self.field.pack_states(z), None)

    def split(self, y: State) -> tuple[None, PyTree[Array]]:
        return None, self.field.unpack_states(y.z)

    def __call__(self, point: TimePoint, y: State) -> State:
        return State(self.field.batch_velocity(y.z, self.path(point)), None)

    def packed_theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        return self.path(point)
