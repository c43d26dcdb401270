"""Weights as a function of time: a user's function, or a series of basis functions."""

from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray, PyTree

from shootax import _checks as checks
from shootax._controls.base import (
    AbstractControl,
    Quadrature,
    checked_horizon,
    checked_weight_penalty,
    draw_theta,
    gauss_legendre,
)
from shootax._controls.direct import check_control, check_drawn
from shootax._fields import AbstractField
from shootax._integrators import AbstractIntegrator
from shootax._penalties import AbstractPenalty, Quadratic
from shootax._systems import AbstractSystem, PathSystem, TimePoint


class FunctionPath(eqx.Module):
    """θ(t) by calling a function of $t$."""

    field: AbstractField
    function: Callable[[Any], PyTree[Array]]

    def __call__(self, point: TimePoint) -> PyTree[Array]:
        return self.field.pack(self.function(point.t))


class FunctionControl(AbstractControl):
    """θ(t) given by a function of time, which may be a module with its own parameters.

    Integrals along θ(t) use a Gauss-Legendre rule with `points` points.

    !!! example

        ```python
        import jax.numpy as jnp
        import shootax as sx

        field = sx.Affine(dim=2, activation="tanh")
        turn = jnp.array([[0.0, -1.0], [1.0, 0.0]])
        control = sx.FunctionControl(field, lambda t: {"A": jnp.cos(t) * turn, "b": jnp.zeros(2)}, T=2.0)
        ```
    """

    function: Callable[[Any], PyTree[Array]]
    penalty: AbstractPenalty
    T: float = eqx.field(static=True)
    points: int = eqx.field(static=True)

    def __init__(
        self,
        field: AbstractField,
        function: Callable[[Any], PyTree[Array]],
        *,
        penalty: AbstractPenalty | None = None,
        T: float = 1.0,
        points: int = 64,
    ):
        """**Arguments:**

        - `field`, `penalty`, `T`: as in [`shootax.Particles`][].
        - `function`: a function of time that returns θ.
        - `points`: the number of points of the quadrature rule.
        """
        check_control(field, penalty)
        if not callable(function) or isinstance(function, type):
            raise TypeError(
                f"function must be a function of time that returns θ, got {checks.shown(function)}."
            )
        got = jax.tree.map(jnp.shape, jax.eval_shape(function, 0.0))
        expected = jax.tree.map(lambda leaf: leaf.shape, field.theta)
        if got != expected:
            raise ValueError(f"The function must return θ of shapes {expected}, got {got}.")
        self.function = function
        self.penalty = checked_weight_penalty(field, penalty)
        self.T = checked_horizon(T)
        self.points = checks.positive_integer(points, "points")

    def system(self, field: AbstractField, batch: int) -> AbstractSystem:
        return PathSystem(field, FunctionPath(field, self.function))

    def quadrature(self, integrator: AbstractIntegrator) -> Quadrature:
        return gauss_legendre(self.T, self.points)

    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        rule = gauss_legendre(self.T, self.points)
        rates = jax.vmap(lambda t: self.penalty(self.function(t)))(_floats(rule.points.t))
        return jnp.sum(jnp.asarray(rule.weights, rates.dtype) * rates)


class Basis(AbstractControl):
    """θ(t) = Σ_i c_i φ_i(t) with Fourier or Legendre functions: the Galerkin neural ODE.

    The basis is orthonormal, $\\tfrac1T ∫ φ_i φ_j\\, dt = δ_{ij}$, so a quadratic penalty is exact:
    $∫R\\, dt = T Σ_i R(c_i)$.

    !!! example

        ```python
        import jax
        import shootax as sx

        field = sx.UpDown(dim=1, inflation=4)
        control = sx.Basis(field, "fourier", 7, key=jax.random.key(0))
        print(control.coefficients["theta1"].shape)  # (7, 1, 4)
        ```
    """

    coefficients: PyTree[Array]
    penalty: AbstractPenalty
    T: float = eqx.field(static=True)
    kind: Literal["fourier", "legendre"] = eqx.field(static=True)
    terms: int = eqx.field(static=True)

    def __init__(
        self,
        field: AbstractField,
        kind: Literal["fourier", "legendre"] = "legendre",
        terms: int = 5,
        *,
        penalty: AbstractPenalty | None = None,
        T: float = 1.0,
        scale: float = 1.0,
        key: PRNGKeyArray,
    ):
        """**Arguments:**

        - `kind`: `"legendre"`, or `"fourier"` (1, cos, sin, cos of twice the frequency, ...).
        - `terms`: the number of basis functions. The coefficients of all but the constant one start
            at zero.
        - the rest as in [`shootax.Static`][].
        """
        self.kind = checks.one_of(kind, BASES, "basis")  # pyright: ignore[reportAttributeAccessIssue]
        self.terms = checks.positive_integer(terms, "terms")
        check_drawn(field, penalty, scale, key)
        self.coefficients = jax.tree.map(
            lambda leaf: jnp.concatenate([leaf[None], jnp.zeros((self.terms - 1, *leaf.shape))]),
            draw_theta(field, scale, key),
        )
        self.penalty = checked_weight_penalty(field, penalty)
        self.T = checked_horizon(T)

    def __call__(self, t: Any) -> PyTree[Array]:
        """θ(t)."""
        values = BASES[self.kind](jnp.asarray(t) / self.T, self.terms)
        return jax.tree.map(
            lambda leaf: jnp.tensordot(values.astype(leaf.dtype), leaf, axes=1), self.coefficients
        )

    def system(self, field: AbstractField, batch: int) -> AbstractSystem:
        return PathSystem(field, FunctionPath(field, self))

    def quadrature(self, integrator: AbstractIntegrator) -> Quadrature:
        return gauss_legendre(self.T, max(64, 4 * self.terms))

    def cost(self, field: AbstractField, integrator: AbstractIntegrator) -> Float[Array, ""]:
        if isinstance(self.penalty, Quadratic):
            return self.T * jnp.sum(jax.vmap(self.penalty)(self.coefficients))
        rule = self.quadrature(integrator)
        rates = jax.vmap(lambda t: self.penalty(self(t)))(_floats(rule.points.t))
        return jnp.sum(jnp.asarray(rule.weights, rates.dtype) * rates)


def fourier(s: Float[Array, ""], terms: int) -> Float[Array, " terms"]:
    """$1, \\sqrt2 \\cos 2πs, \\sqrt2 \\sin 2πs, \\sqrt2 \\cos 4πs, …$"""
    values = [jnp.ones_like(s)]
    for i in range(1, terms):
        wave = jnp.cos if i % 2 else jnp.sin
        values.append(np.sqrt(2).item() * wave(2 * np.pi * ((i + 1) // 2) * s))
    return jnp.stack(values)


def legendre(s: Float[Array, ""], terms: int) -> Float[Array, " terms"]:
    """Legendre polynomials on $[0, 1]$, scaled to mean square 1."""
    x = 2 * s - 1
    values = [jnp.ones_like(x), x]
    for n in range(1, terms - 1):
        values.append(((2 * n + 1) * x * values[n] - n * values[n - 1]) / (n + 1))
    return jnp.stack([float(np.sqrt(2 * n + 1)) * v for n, v in enumerate(values[:terms])])


BASES = {"fourier": fourier, "legendre": legendre}


def _floats(values: np.ndarray) -> Array:
    return jnp.asarray(values, jnp.result_type(float))
