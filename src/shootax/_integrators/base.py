"""The interface of integrators, and the times at which they return results."""

import abc
from collections.abc import Callable

import equinox as eqx
from jaxtyping import Array, Float, PyTree

from shootax._systems import AbstractSystem, State

View = Callable[[State], PyTree[Array]]


class AtEnd(eqx.Module):
    """Return the result at the final time only.

    !!! example

        ```python
        import shootax as sx

        save = sx.extend.AtEnd()
        ```
    """


class AtNodes(eqx.Module):
    """Return the results at points of the fixed grid.

    **Arguments:** `indices`: the indices of the grid points; 0 is the start.

    !!! example

        ```python
        import shootax as sx

        save = sx.extend.AtNodes((0, 5, 10))
        ```
    """

    indices: tuple[int, ...] = eqx.field(static=True)


class AtTimes(eqx.Module):
    """Return the results at any times.

    **Arguments:** `times`: `(times,)` for all samples, or `(batch, times)` if each has its own.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        save = sx.extend.AtTimes(jnp.array([0.0, 0.5, 1.0]))
        ```
    """

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
        """Integrate from $0$ to $T$, or from $T$ to $0$ if `reverse`.

        Return `view` of the state at the end, or stacked along a new leading axis at the requested
        times. If each sample has its own times, the batch comes first: `(batch, times, ...)`.
        """

    @abc.abstractmethod
    def nodes(self, T: float, times: Array, reverse: bool) -> tuple[int, ...] | None:
        """The indices of the grid points at which all `times` lie, or `None`."""
