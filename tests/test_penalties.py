"""The quadratic penalty against NumPy, and θ* as its maximiser."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import FIELDS, assert_close, some_theta, spd
from shootax._hamiltonian import hamiltonian, theta_star
from shootax._penalties import SPDMatrix

FIELD = sx.Affine(3, activation="tanh")
THETA = some_theta(FIELD)
A, B = np.asarray(THETA["A"]), np.asarray(THETA["b"])


def test_default_is_half_the_sum_of_squares():
    np.testing.assert_allclose(
        sx.Quadratic()(THETA), 0.5 * (np.sum(A**2) + np.sum(B**2)), rtol=1e-14
    )


def test_scalar_weights():
    penalty = sx.Quadratic(A=3.0, default=7.0)
    np.testing.assert_allclose(
        penalty(THETA), 0.5 * (3 * np.sum(A**2) + 7 * np.sum(B**2)), rtol=1e-14
    )


def test_matrix_weights():
    """½ Tr(Aᵀ M_A A) + ½ bᵀ M_b b (Eq. EqAffineVectorField and its penalty)."""
    m_a, m_b = spd(3), spd(3, seed=1)
    expected = 0.5 * np.trace(A.T @ m_a @ A) + 0.5 * B @ m_b @ B
    np.testing.assert_allclose(sx.Quadratic(A=m_a, b=m_b)(THETA), expected, rtol=1e-13)


def test_solve_is_the_inverse():
    m_a = spd(3)
    got = sx.Quadratic(A=m_a, b=4.0).solve(THETA)
    np.testing.assert_allclose(got["A"], np.linalg.solve(m_a, A), rtol=1e-10)
    np.testing.assert_allclose(got["b"], B / 4, rtol=1e-14)


def test_solve_maximises():
    """The gradient of ⟨g, θ⟩ − R(θ) is zero at M⁻¹g."""
    penalty = sx.Quadratic(A=spd(3), b=4.0)
    best = penalty.solve(THETA)
    slope = jax.grad(penalty)(best)
    assert_close(slope, THETA, rtol=1e-10)


def test_updown_default_weighs_theta3_tenfold():
    assert sx.UpDown(1, 2).default_penalty().strength("theta3") == 10.0
    assert sx.UpDown(1, 2).default_penalty().strength("theta1") == 1.0
    for field in (sx.UpDown(1, 2, theta3=False), sx.Affine(2), FIELDS["rotor"]()):
        assert field.default_penalty() == sx.Quadratic()


def test_names_inside_a_tree():
    field = FIELDS["pendulum"]()
    theta = some_theta(field)
    m = spd(3)
    penalty = sx.Quadratic({"up.0": m, "up.1": 2.0, "down": 3.0})
    penalty.check(field.theta)
    up, bias, down = (np.asarray(a) for a in (*theta["up"], theta["down"]))
    expected = 0.5 * (np.trace(up.T @ m @ up) + 2 * bias @ bias + 3 * np.sum(down**2))
    np.testing.assert_allclose(penalty(theta), expected, rtol=1e-13)


def test_matrices_are_compared_by_value():
    assert SPDMatrix(spd(3)) == SPDMatrix(spd(3))
    assert hash(sx.Quadratic(A=spd(3))) == hash(sx.Quadratic(A=spd(3)))
    assert sx.Quadratic(A=spd(3)) != sx.Quadratic(A=spd(3, seed=1))
    assert SPDMatrix(np.eye(2)) != np.eye(2).tolist()


def test_a_nearly_singular_matrix_is_refused():
    """Its inverse would be rounding errors."""
    v = np.array([1.0, 1 / 3, 0.1])
    with pytest.raises(ValueError, match="positive definite"):
        sx.Quadratic(A=np.outer(v, v) + 1e-17 * np.eye(3))


@pytest.mark.parametrize("name", FIELDS)
def test_theta_star_beats_every_neighbour(name):
    """H(θ*) is larger than H at random points around it, for random particles."""
    field = FIELDS[name]()
    rng = np.random.default_rng(3)
    q, p = (
        jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=(4, *leaf.shape))), field.state)
        for _ in range(2)
    )
    penalty = field.default_penalty()
    best = theta_star(field, penalty, q, p)
    top = hamiltonian(field, penalty, q, p, best)
    np.testing.assert_allclose(top, penalty(best), rtol=1e-12)
    for seed in range(3):
        step = some_theta(field, 0.1, seed)
        near = jax.tree.map(jnp.add, best, step)
        drop = top - hamiltonian(field, penalty, q, p, near)
        np.testing.assert_allclose(drop, penalty(step), rtol=1e-8)


def test_theta_star_of_updown_is_the_paper_s():
    """θ1 = Σ p σ(u)ᵀ, b1 = Σ p, θ2 = Σ r qᵀ, b2 = Σ r, θ3 = Σ r σ(u)ᵀ / 10."""
    rng = np.random.default_rng(0)
    z, m = rng.normal(size=(4, 8)), rng.normal(size=(4, 8))
    q, u, p, r = z[:, :2], z[:, 2:], m[:, :2], m[:, 2:]
    field = sx.UpDown(2, 3, activation="tanh")
    got = theta_star(field, field.default_penalty(), jnp.asarray(z), jnp.asarray(m))
    expected = {
        "theta1": p.T @ np.tanh(u),
        "b1": p.sum(0),
        "theta2": r.T @ q,
        "b2": r.sum(0),
        "theta3": r.T @ np.tanh(u) / 10,
    }
    assert_close(got, expected, rtol=1e-12)


def test_the_norm_of_a_function_is_half_of_gram_times_momenta():
    penalty = sx.RKHSNorm(sx.kernels.GaussianKernel(1.0))
    q, p = np.array([[0.0], [1.0]]), np.array([[2.0], [3.0]])
    gram = np.asarray([[penalty.kernel(a, b) for b in q] for a in q])
    np.testing.assert_allclose(penalty({"q": q, "p": p}), 0.5 * (p.T @ gram @ p).item(), rtol=1e-12)
