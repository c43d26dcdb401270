"""Small parts of controls: rules for integrals, where weights start, and what is announced."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import CONTROLS, KEY
from shootax._controls.base import draw_theta
from shootax._controls.function import legendre
from shootax._controls.particles import simpson

FIELD = sx.UpDown(2, 3, activation="tanh")


@pytest.mark.parametrize(("steps", "degree"), [(4, 3), (2, 3), (1, 1), (5, 1)])
def test_simpson_is_exact_for_its_degree(steps, degree):
    rule = simpson(1.5, steps)
    np.testing.assert_allclose(rule.points.t, np.linspace(0, 1.5, steps + 1))
    for power in range(degree + 1):
        got = np.sum(rule.weights * np.asarray(rule.points.t) ** power)
        np.testing.assert_allclose(got, 1.5 ** (power + 1) / (power + 1), rtol=1e-12)


def test_adaptive_methods_get_a_fine_rule_of_the_same_degree():
    control = CONTROLS["particles"](FIELD, T=2.0)
    rule = control.quadrature(sx.Tsit5())
    assert len(rule.weights) > 50
    np.testing.assert_allclose(
        np.sum(rule.weights * np.asarray(rule.points.t) ** 3), 4.0, rtol=1e-12
    )
    assert len(control.quadrature(sx.RK4(7)).weights) == 8


def test_a_conserved_penalty_is_not_integrated():
    """However coarse the steps, the cost is exactly $T R(θ(0))$."""
    control = CONTROLS["particles"](FIELD, T=2.0)
    wanted = 2.0 * float(control.penalty(control.theta_at_start(FIELD)))
    with jax.disable_jit():
        assert float(control.cost(FIELD, sx.Euler(1))) == pytest.approx(wanted, rel=1e-14)


def test_jumps_are_at_the_edges_of_the_blocks():
    system = CONTROLS["piecewise"](FIELD, T=2.5).system(FIELD, 1)
    np.testing.assert_allclose(system.jumps(), [0.5, 1.0, 1.5, 2.0])


def test_free_weights_start_as_documented():
    """Matrices uniform within $±s/\\sqrt{fan in}$, vectors zero."""
    theta = draw_theta(FIELD, 3.0, KEY)
    assert not np.any(theta["b1"])
    assert not np.any(theta["b2"])
    for name, fan_in in (("theta1", 6), ("theta2", 2), ("theta3", 6)):
        largest, bound = np.abs(theta[name]).max(), 3.0 / np.sqrt(fan_in)
        assert 0.7 * bound < largest <= bound
    assert not np.array_equal(theta["theta1"].T, theta["theta2"])


def test_legendre_polynomials_by_numpy():
    s = np.linspace(0, 1, 7)
    got = np.asarray(legendre(jnp.asarray(s), 5)).T
    wanted = np.polynomial.legendre.legvander(2 * s - 1, 4) * np.sqrt(2 * np.arange(5) + 1)
    np.testing.assert_allclose(got, wanted, atol=1e-12)
