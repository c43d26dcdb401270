"""Symplectic methods, whose error in the Hamiltonian stays bounded at any depth."""

from typing import ClassVar

import equinox as eqx
import jax
from jaxtyping import Array, PyTree

from shootax import _checks as checks
from shootax._integrators.fixed import AbstractFixedStep, Step
from shootax._integrators.fixed_point import fixed_point
from shootax._integrators.gradients import AbstractGradient, Direct
from shootax._integrators.runge_kutta import ARGUMENTS
from shootax._systems import AbstractSystem, State, TimePoint


class AbstractImplicit(AbstractFixedStep):
    """A method whose steps are solved by a fixed-point iteration."""

    max_iterations: eqx.AbstractVar[int]

    def __check_init__(self):
        checks.positive_integer(self.max_iterations, "max_iterations")


class ImplicitMidpoint(AbstractImplicit):
    """The implicit midpoint rule: symplectic, symmetric, second order.

    $m = y + \\tfrac h2 f(m)$, then $y ← 2m - y$. Twice the steps, a quarter of the error; the error
    of the Hamiltonian does not grow with the depth. Each step iterates until only rounding errors remain,
    with one evaluation of the field per iteration.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        midpoint = sx.ImplicitMidpoint(steps=20)
        net = sx.Net(field, particles=3, integrator=midpoint, key=jax.random.key(0))
        ```
    """

    order: ClassVar[int] = 2
    fractions: ClassVar[tuple[float, ...]] = (0.5,)
    weights: ClassVar[tuple[float, ...]] = (1.0,)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()
    max_iterations: int = eqx.field(static=True, default=50)

    def stages(self, system: AbstractSystem, step: Step, y: State):
        point = step.point(0.5, 0)
        middle = fixed_point(_midpoint, (system, point, step.h, y), y, self.max_iterations)
        new = jax.tree.map(lambda m, start: 2 * m - start, middle, y)
        return new, [(point, middle)]


def _midpoint(args: tuple[AbstractSystem, TimePoint, float, State], middle: State) -> State:
    system, point, h, y = args
    return moved(y, 0.5 * h, system(point, middle))


class SymplecticEuler(AbstractImplicit):
    """Symplectic Euler, first order: shooting in discrete time.

    $p_{k+1} = p_k - h\\, ∂_q\\mathcal H(q_k, p_{k+1})$ (implicit),
    $q_{k+1} = q_k + h\\, ∂_p\\mathcal H(q_k, p_{k+1})$, and the data take the residual step
    $z_{k+1} = z_k + h f(z_k, θ_k)$. These are exactly the optimality conditions of that residual
    network, so a trained model is a critical point of the energy $Σ_k h R(θ_k) + γ ℓ$. Without
    particles the method is [`shootax.Euler`][].

    A step back in time (`reverse=True`) is the inverse of a step forward, the adjoint method: it is
    implicit in $q_k$ and $z_k$ instead, and a flow there and back returns to its start. Twice the
    steps, half the error.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        layers = sx.SymplecticEuler(steps=20)
        net = sx.Net(field, particles=3, integrator=layers, key=jax.random.key(0))
        ```
    """

    order: ClassVar[int] = 1
    fractions: ClassVar[tuple[float, ...]] = (0.0,)
    weights: ClassVar[tuple[float, ...]] = (1.0,)
    steps: int = eqx.field(static=True, default=10)
    gradient: AbstractGradient = Direct()
    max_iterations: int = eqx.field(static=True, default=50)

    def stages(self, system: AbstractSystem, step: Step, y: State):
        if step.h < 0:
            return self._back(system, step, y)
        point = step.point(0.0, 0)
        p = y.p
        if p is not None:
            p = fixed_point(_kick, (system, point, step.h, y), p, self.max_iterations)
        at = State(y.z, p)
        return State(moved(y.z, step.h, system(point, at).z), p), [(point, at)]

    def _back(self, system: AbstractSystem, step: Step, y: State):
        """From $(q_{k+1}, p_{k+1})$ to $(q_k, p_k)$; θ acts at the earlier end of the step."""
        point = step.point(1.0, 0)
        z = fixed_point(_drift, (system, point, step.h, y), y.z, self.max_iterations)
        at = State(z, y.p)
        if y.p is None:
            return at, [(point, at)]
        return State(z, moved(y.p, step.h, system(point, at).p)), [(point, at)]


def _drift(args: tuple[AbstractSystem, TimePoint, float, State], z):
    system, point, h, y = args
    return moved(y.z, h, system(point, State(z, y.p)).z)


def _kick(args: tuple[AbstractSystem, TimePoint, float, State], p):
    system, point, h, y = args
    return moved(y.p, h, system(point, State(y.z, p)).p)


def moved(y: PyTree[Array], h: float, slope: PyTree[Array]) -> PyTree[Array]:
    return jax.tree.map(lambda start, part: start + h * part, y, slope)


for _method in (ImplicitMidpoint, SymplecticEuler):
    _method.__init__.__doc__ = (
        ARGUMENTS
        + """- `max_iterations`: the largest number of iterations for an implicit step. If a step needs
    more, the result is NaN; take more steps then.
"""
    )
