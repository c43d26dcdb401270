"""What an integrator does, and at which times it may be asked for results."""

import abc
from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from shootax._systems import AbstractSystem, State

View = Callable[[State], PyTree[Array]]


class AtEnd(eqx.Module):
    """Results at the end alone."""


class AtNodes(eqx.Module):
    """Results at points of the fixed grid, given by their numbers (0 is the start)."""

    indices: tuple[int, ...] = eqx.field(static=True)


class AtTimes(eqx.Module):
    """Results at any times: `(times,)`, shared, or `(batch, times)`, each sample its own."""

    times: Float[Array, " times"] | Float[Array, "batch times"]


Save = AtEnd | AtNodes | AtTimes


class AbstractIntegrator(eqx.Module):
    """A way to solve the equations of a system over $[0, T]$."""

    @abc.abstractmethod
    def solve(
        self,
        system: AbstractSystem,
        y: State,
        T: float,
        *,
        save: Save = AtEnd(),
        view: View,
        reverse: bool = False,
    ) -> PyTree[Array]:
        """Integrates from $0$ to $T$, or from $T$ to $0$ if `reverse`.

        Returns `view` of the state at the end, or stacked along a new leading axis at the times
        asked for. With times of its own for each sample, the batch comes first:
        `(batch, times, ...)`.
        """

    @abc.abstractmethod
    def nodes(self, T: float, times: Array, reverse: bool) -> tuple[int, ...] | None:
        """The numbers of the grid points at which all `times` lie, if they do."""
