"""Fields of a reproducing-kernel Hilbert space."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad

import shootax as sx
from shootax._systems import TimePoint

KERNELS = {
    "gaussian": sx.kernels.GaussianKernel(0.8),
    "laplace": sx.kernels.LaplaceKernel(0.8),
    "multiquadric": sx.kernels.InverseMultiquadric(0.8),
    "sum": sx.kernels.SumKernel(
        sx.kernels.GaussianKernel(0.4), sx.kernels.GaussianKernel(2.0), weights=(1.0, 0.5)
    ),
}


def drawn(field, particles=4):
    return sx.Ensemble.draw(field, particles, momentum=0.5, key=jax.random.key(0))


@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_positive_definite(name):
    x = jax.random.normal(jax.random.key(0), (8, 2))
    gram = jax.vmap(lambda a: jax.vmap(lambda b: KERNELS[name](a, b))(x))(x)
    assert jnp.allclose(gram, gram.T)
    assert float(jnp.linalg.eigvalsh(gram)[0]) > 0


@pytest.mark.parametrize("name", KERNELS)
def test_equations_are_those_of_landmarks(name):
    """dq = K p and dp = -∂q ½⟨p, K p⟩, and the Hamiltonian is conserved."""
    field = sx.RKHS(dim=2, kernel=KERNELS[name])
    control = sx.Particles(field, drawn(field))
    q, p = control.ensemble.q, control.ensemble.p

    def energy(q, p):
        gram = jax.vmap(lambda a: jax.vmap(lambda b: KERNELS[name](a, b))(q))(q)
        return 0.5 * jnp.sum(gram * (p @ p.T))

    system = control.system(field, 1)
    z = jnp.array([[0.2, -0.1]])
    slope = system(TimePoint(0.0, 0.0, 0, 0), system.join(system.start(), z))
    moved, dz = system.split(slope)
    assert jnp.allclose(moved.q, jax.grad(energy, argnums=1)(q, p), atol=1e-12)
    assert jnp.allclose(moved.p, -jax.grad(energy, argnums=0)(q, p), atol=1e-12)
    assert jnp.allclose(dz[0], sum(KERNELS[name](z[0], q[j]) * p[j] for j in range(4)))
    assert jnp.allclose(control.cost(field, sx.RK4()), energy(q, p))
    if name != "laplace":
        net = sx.Net(field, control, integrator=sx.RK4(20), key=jax.random.key(1))
        assert float(sx.hamiltonian_drift(net)) < 1e-5


def test_two_landmarks_on_a_line_have_a_closed_form():
    """Their distance obeys r' = (1 - k(r)) (p2 - p1), with energy and total momentum conserved.

    With P = p1 + p2 and s = p2 - p1: 2H = ½P²(1 + k) + ½s²(1 - k), hence the time until the distance
    is r is ∫ dr / √((1 - k)(4H - P²(1 + k))).
    """
    kernel = KERNELS["gaussian"]
    field = sx.RKHS(dim=1, kernel=kernel)
    q, p = jnp.array([[0.0], [0.7]]), jnp.array([[0.1], [0.9]])
    control = sx.Particles(field, sx.Ensemble(q, p))
    ends = sx.flow(field, control, q, integrator=sx.RK4(100))

    def k(r):
        return np.exp(-(r**2) / (2 * 0.8**2))

    total = 1.0
    energy = 0.5 * (0.1**2 + 0.9**2) + k(0.7) * 0.1 * 0.9
    distance = float(ends[1, 0] - ends[0, 0])
    speed = lambda r: np.sqrt((1 - k(r)) * (4 * energy - total**2 * (1 + k(r))))  # noqa: E731
    time, _ = quad(lambda r: 1 / speed(r), 0.7, distance, epsabs=1e-12)
    assert abs(time - 1.0) < 1e-8
    assert distance > 0.9


def test_random_features_approach_the_kernel():
    """A field linear in θ whose features have this kernel in the mean moves data the same way."""
    features, scale = 4000, 0.8
    keys = jax.random.split(jax.random.key(0))
    waves = jax.random.normal(keys[0], (features, 2)) / scale
    phases = jax.random.uniform(keys[1], (features,), maxval=2 * jnp.pi)

    def f(z, theta):
        return theta @ (jnp.sqrt(2 / features) * jnp.cos(waves @ z + phases))

    field = sx.FunctionField(f, state=sx.shape(2), theta=sx.shape(2, features))
    exact = sx.RKHS(dim=2, kernel=sx.kernels.GaussianKernel(scale))
    ensemble = drawn(exact)
    z = jax.random.normal(jax.random.key(2), (5, 2))
    want = sx.flow(exact, sx.Particles(exact, ensemble), z, integrator=sx.Heun(5))
    got = sx.flow(field, sx.Particles(field, ensemble), z, integrator=sx.Heun(5))
    assert float(jnp.max(jnp.abs(got - want))) < 0.1 * float(jnp.max(jnp.abs(want - z)))


def test_laplace_gradient_is_finite_where_points_meet():
    kernel = KERNELS["laplace"]
    x = jnp.array([0.3, 0.4])
    assert bool(jnp.all(jnp.isfinite(jax.hessian(kernel)(x, x))))


def test_there_is_no_theta_to_penalise_or_to_free():
    field = sx.RKHS(dim=2)
    with pytest.raises(ValueError, match="no weights θ to penalise"):
        sx.Particles(field, drawn(field), penalty=sx.Quadratic())
    with pytest.raises(ValueError, match="has no weights θ"):
        sx.Static(field, key=jax.random.key(0))


def test_baked_is_live():
    field = sx.RKHS(dim=2)
    net = sx.Net(field, sx.Particles(field, drawn(field)), key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (3, 2))
    assert jnp.allclose(sx.bake(net)(x), net(x), atol=1e-12)
    assert eqx.tree_equal(jnp.shape(net(x)), (3, 2))
