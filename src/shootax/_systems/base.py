"""The ordinary differential equation that an integrator sees.

A system joins the particles, if there are any, with the batch of data. It is constructed once per flow,
so that preparations happen outside the time loop.
"""

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
from jaxtyping import Array, PyTree

from shootax._fields import AbstractField


class TimePoint(NamedTuple):
    """When a right-hand side is evaluated.

    **Arguments:**

    - `t`: the time.
    - `inside`: the same time, moved slightly into the interior of the step. With it, each step uses only
        its own side of a control that jumps at grid points.
    - `step`, `stage`: the indices of the step on a fixed grid and of its stage; -1 without such a grid.

    !!! example

        ```python
        from shootax.extend import TimePoint

        point = TimePoint(t=0.5, inside=0.5, step=-1, stage=-1)
        ```
    """

    t: Any
    inside: Any
    step: Any
    stage: Any


class State(NamedTuple):
    """The state that is integrated. Only the system that made it can take it apart (`split`).

    **Arguments:**

    - `z`: the states of the particles, if there are any, and of the data, in the memory layout of the
        system.
    - `p`: the momenta of the particles.
    """

    z: PyTree[Array]
    p: PyTree[Array]


class ParticleState(NamedTuple):
    """The particles at one time.

    **Arguments:**

    - `q`, `p`: positions and momenta.
    - `guess`: their θ*, if the next maximisation starts from it (warm start).
    """

    q: PyTree[Array]
    p: PyTree[Array]
    guess: PyTree[Array] | None = None


class Pieces(NamedTuple):
    """Systems that act in sequence.

    **Arguments:**

    - `make`: a function that makes a system from its arrays.
    - `stacked`: these arrays, with a leading axis for the systems.
    """

    make: "Callable[[PyTree[Array]], AbstractSystem]"
    stacked: PyTree[Array]


class AbstractSystem(eqx.Module):
    """Particles and data, and how they move."""

    field: eqx.AbstractVar[AbstractField]

    @property
    def rolled(self) -> bool:
        """Whether the stages of a step run as a loop. This keeps the compiled program small if the
        derivative is a large program, but slows down a small one."""
        return False

    @abc.abstractmethod
    def jumps(self) -> tuple[float, ...]:
        """The times, if any, at which θ jumps. An adaptive integrator stops there. If there are any, one
        with fixed steps evaluates derivatives on both sides of each grid point, to interpolate."""

    def pieces(self, steps: int) -> Pieces | None:
        """Systems with constant θ that act in sequence, each for an equal share of the steps of an
        even grid; `None` if there are none.

        A loop over pieces evaluates θ once for each of them, and so does its gradient.
        """
        return None

    @abc.abstractmethod
    def start(self) -> ParticleState | None:
        """The particles at $t = 0$."""

    @abc.abstractmethod
    def join(self, particles: ParticleState | None, z: PyTree[Array]) -> State:
        """Join particles and a batch of data to one state."""

    @abc.abstractmethod
    def split(self, y: State) -> tuple[ParticleState | None, PyTree[Array]]:
        """Split a state, or its derivative, into particles and a batch of data."""

    @abc.abstractmethod
    def __call__(self, point: TimePoint, y: State) -> State:
        """The time derivative of a state."""

    @abc.abstractmethod
    def packed_theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        """The weights θ(t) that act at a time point, packed by the field's `pack`."""

    def theta(self, point: TimePoint, y: State) -> PyTree[Array]:
        """The weights θ(t) that act at a time point."""
        return self.field.unpack(self.packed_theta(point, y))
