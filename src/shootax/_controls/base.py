"""Where the weights θ(t) come from, and what they cost."""

import abc
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._fields import AbstractField
from shootax._integrators import AbstractIntegrator
from shootax._penalties import AbstractParticlePenalty, AbstractPenalty, Penalty
from shootax._systems import AbstractSystem, TimePoint


class Quadrature(NamedTuple):
    """The rule $∫_0^T g(θ(t))\\, dt ≈ Σ_i w_i\\, g(θ(t_i))$.

    **Arguments:**

    - `points`: one [`shootax.extend.TimePoint`][] that holds arrays of all $t_i$.
    - `weights`: the quadrature weights $w_i$.

    !!! example

        ```python
        import numpy as np
        from shootax.extend import Quadrature

        midpoint = Quadrature.at(times=np.array([0.5]), weights=np.array([1.0]))
        ```
    """

    points: TimePoint
    weights: np.ndarray

    @classmethod
    def at(cls, times: np.ndarray, weights: np.ndarray) -> "Quadrature":
        """The rule with these times and quadrature weights."""
        nowhere = np.full(len(times), -1)
        return cls(TimePoint(times, times, nowhere, nowhere), weights)


class AbstractControl(eqx.Module):
    """A path of weights $θ(t)$, $0 ≤ t ≤ T$, with its penalty $R$: what Eq. EqVariationalFormulation
    minimises over.

    `shootax.theory` defines a control that shows how to write your own; see also the guide on
    extending the library.
    """

    T: eqx.AbstractVar[float]
    penalty: eqx.AbstractVar[Penalty]

    @abc.abstractmethod
    def system(self, field: AbstractField, batch: int) -> AbstractSystem:
        """The equations of a batch of `batch` states under this control."""

    @abc.abstractmethod
    def quadrature(self, integrator: AbstractIntegrator) -> Quadrature:
        """A rule for integrals along θ(t)."""

    @abc.abstractmethod
    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        """$∫_0^T R(θ(t))\\, dt$, the penalty of Eq. EqVariationalFormulation. The
        integrator matters only if θ(t) has to be integrated."""


def checked_penalty(field: AbstractField, penalty: Penalty | None) -> Penalty:
    """Return the given penalty if it fits the field; by default the field's own."""
    field.check_velocity()
    if penalty is None:
        return field.default_penalty()
    checks.instance(
        penalty,
        AbstractPenalty | AbstractParticlePenalty,
        "penalty",
        "penalty=Quadratic(), or leave it out for the default of the field",
    )
    field.check_penalty(penalty)
    return penalty


def checked_weight_penalty(field: AbstractField, penalty: Penalty | None) -> AbstractPenalty:
    """The same for a control without particles, whose penalty can depend only on θ."""
    checked = checked_penalty(field, penalty)
    if isinstance(checked, AbstractParticlePenalty):
        raise ValueError(
            f"{type(checked).__name__} depends on particles, and this control has none. Use "
            "Particles or FrozenParticles, or a penalty on θ alone such as Quadratic()."
        )
    return checked


def checked_horizon(T: float) -> float:
    return checks.positive_number(T, "The final time T")


def draw_theta(
    field: AbstractField, scale: float, key: PRNGKeyArray, *leading: int
) -> PyTree[Array]:
    """Draw free weights: matrices uniform in $±scale/\\sqrt{fan\\,in}$, vectors zero."""
    leaves, tree = jax.tree.flatten(field.theta)
    keys = jax.random.split(key, len(leaves))

    def one(key: PRNGKeyArray, shape: tuple[int, ...]) -> Array:
        if len(shape) < 2:
            return jnp.zeros((*leading, *shape))
        bound = scale / np.sqrt(np.prod(shape[1:]))
        return jax.random.uniform(key, (*leading, *shape), minval=-bound, maxval=bound)

    return jax.tree.unflatten(
        tree, [one(k, leaf.shape) for k, leaf in zip(keys, leaves, strict=True)]
    )


def gauss_legendre(T: float, points: int) -> Quadrature:
    """The Gauss-Legendre rule on $[0, T]$."""
    x, w = np.polynomial.legendre.leggauss(points)
    return Quadrature.at(0.5 * T * (x + 1), 0.5 * T * w)
