"""The equations of shooting: by hand, in closed form, by kernels and automatically, all the same."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_close, usually
from shootax._hamiltonian import hamilton_equations, hamiltonian, reduced_hamiltonian, theta_star
from shootax._systems import (
    DenseSystem,
    KernelSystem,
    ParticleState,
    TimePoint,
    operations,
    shooting_system,
)

NOW = TimePoint(0.0, 0.0, 0, 0)
ROWS, COUNT = 4, 3


def spd(rng: np.random.Generator, size: int) -> np.ndarray:
    root = rng.normal(size=(size, size))
    return root @ root.T + size * np.eye(size)


def random_problem(field: sx.AbstractField, seed: int):
    rng = np.random.default_rng(seed)
    size = field.state.shape[0]
    q, p = rng.normal(size=(2, COUNT, size))
    return ParticleState(jnp.array(q), jnp.array(p)), jnp.array(rng.normal(size=(ROWS, size)))


def evaluate(field, penalty, particles, z, form):
    system = shooting_system(field, penalty, sx.maximisers.ClosedForm(), particles, len(z), form)
    y = system.join(particles, z)
    dy = system(NOW, y)
    moved, dz = system.split(dy)
    return (moved.q, moved.p, dz), system.theta(NOW, y)


def updown_by_hand(field, weights, particles, z):
    """Eq. updownODE and its adjoint, written out, with $M^{-1}$ for every weight."""
    d = field.dim
    act, slope = jnp.tanh, lambda v: 1 - jnp.tanh(v) ** 2
    q, u = particles.q[:, :d], particles.q[:, d:]
    p, r = particles.p[:, :d], particles.p[:, d:]
    solve = {name: jnp.linalg.inv(jnp.asarray(m)) for name, m in weights.items()}
    theta1, b1 = solve["theta1"] @ (p.T @ act(u)), solve["b1"] @ p.sum(0)
    theta2, b2 = solve["theta2"] @ (r.T @ q), solve["b2"] @ r.sum(0)
    theta3 = solve["theta3"] @ (r.T @ act(u))

    def velocity(x, v):
        dx = act(v) @ theta1.T + b1[None]
        return jnp.concatenate([dx, x @ theta2.T + b2[None] + act(v) @ theta3.T], axis=1)

    dp = -r @ theta2
    dr = -slope(u) * (p @ theta1 + r @ theta3)
    moved = (velocity(q, u), jnp.concatenate([dp, dr], axis=1), velocity(z[:, :d], z[:, d:]))
    return moved, {"theta1": theta1, "b1": b1, "theta2": theta2, "b2": b2, "theta3": theta3}


@pytest.mark.parametrize("form", ["dense", "kernel", "linear", "automatic"])
@pytest.mark.parametrize("matrices", usually([False, True], False), ids=["numbers", "matrices"])
def test_updown_agrees_with_the_equations_written_by_hand(form, matrices):
    field = sx.UpDown(dim=2, inflation=3, activation="tanh")
    rng = np.random.default_rng(0)
    sizes = {"theta1": 2, "b1": 2, "theta2": 6, "b2": 6, "theta3": 6}
    full = {name: spd(rng, n) for name, n in sizes.items()}
    numbers = {"theta1": 0.7, "b1": 1.3, "theta2": 2.0, "b2": 0.4, "theta3": 10.0}
    if not matrices:
        full = {name: w * np.eye(sizes[name]) for name, w in numbers.items()}
    penalty = sx.Quadratic(full if matrices else numbers)
    particles, z = random_problem(field, 1)
    got, theta = evaluate(field, penalty, particles, z, form)
    want, want_theta = updown_by_hand(field, full, particles, z)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-12)
    for name in want_theta:
        np.testing.assert_allclose(theta[name], want_theta[name], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "kernel", "linear", "automatic"])
def test_affine_agrees_with_the_equations_written_by_hand(form):
    field = sx.Affine(dim=3, activation="softplus")
    rng = np.random.default_rng(2)
    m_a, m_b = spd(rng, 3), spd(rng, 3)
    particles, z = random_problem(field, 3)
    q, p = particles.q, particles.p
    act, slope = jax.nn.softplus, jax.nn.sigmoid
    a = np.linalg.inv(m_a) @ np.asarray(p.T @ act(q))
    b = np.linalg.inv(m_b) @ np.asarray(p.sum(0))
    got, theta = evaluate(field, sx.Quadratic(A=m_a, b=m_b), particles, z, form)
    want = (act(q) @ a.T + b[None], -slope(q) * (p @ a), act(z) @ a.T + b[None])
    for left, right in zip(got, want, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(theta["A"], a, rtol=1e-10)


@pytest.mark.parametrize("activation", usually(["relu", "tanh", "gelu", jnp.sin], "gelu"))
@pytest.mark.parametrize("theta3", [True, pytest.param(False, marks=pytest.mark.slow)])
@pytest.mark.parametrize("matrices", usually([False, True], True), ids=["numbers", "matrices"])
def test_reverse_passes_written_by_hand_equal_automatic_ones(activation, theta3, matrices):
    """The second derivatives of the Hamiltonian: the training gradient through one evaluation."""
    field = sx.UpDown(dim=2, inflation=2, activation=activation, theta3=theta3)
    rng = np.random.default_rng(4)
    penalty = sx.Quadratic(theta2=spd(rng, 4), b1=3.0) if matrices else sx.Quadratic(theta2=2.5)
    particles, z = random_problem(field, 5)
    probes, probe = random_problem(field, 6)
    weights = (probes.q, probes.p, probe)

    def pairing(form, particles, z):
        got, _ = evaluate(field, penalty, particles, z, form)
        return sum(jnp.sum(w * g) for w, g in zip(weights, got, strict=True))

    slope = jax.jit(jax.grad(pairing, argnums=(1, 2)), static_argnums=0)
    gradients = {
        form: slope(form, particles, z) for form in ("dense", "kernel", "linear", "automatic")
    }
    for form in ("dense", "kernel", "linear"):
        for a, b in zip(
            jax.tree.leaves(gradients[form]), jax.tree.leaves(gradients["automatic"]), strict=True
        ):
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


SMALL = [sx.UpDown(2, 2, activation="tanh"), sx.Affine(3, "tanh")]


@pytest.mark.parametrize("field", usually(SMALL, SMALL[0]))
def test_partial_derivatives_at_fixed_theta_are_those_of_the_reduced_hamiltonian(field):
    """The envelope theorem, by differentiating $\\max_θ H$ through θ*."""
    penalty = sx.Quadratic(default=2.0)
    particles, _ = random_problem(field, 7)
    q, p = particles.q, particles.p
    theta = theta_star(field, penalty, q, p)
    dq, dp = hamilton_equations(field, penalty, q, p, theta)
    by_q, by_p = jax.grad(reduced_hamiltonian, argnums=(2, 3))(field, penalty, q, p)
    np.testing.assert_allclose(dq, by_p, rtol=1e-12)
    np.testing.assert_allclose(dp, -by_q, rtol=1e-12)


def test_hamiltonian_equals_the_penalty_of_its_maximiser_and_is_a_maximum():
    field, penalty = sx.UpDown(2, 2, activation="tanh"), sx.Quadratic(theta3=10.0)
    particles, _ = random_problem(field, 8)
    q, p = particles.q, particles.p
    best = theta_star(field, penalty, q, p)
    value = hamiltonian(field, penalty, q, p, best)
    np.testing.assert_allclose(value, penalty(best), rtol=1e-12)
    rng = np.random.default_rng(9)
    for _ in range(20):
        other = jax.tree.map(lambda leaf: leaf + 0.1 * rng.normal(size=leaf.shape), best)
        assert hamiltonian(field, penalty, q, p, other) < value


def test_auto_takes_the_form_with_fewer_operations():
    small, large = sx.UpDown(1, 4), sx.UpDown(2, 128)
    for field, particles, rows, form in ((small, 15, 50, "dense"), (large, 25, 100, "kernel")):
        costs = operations(field, particles, rows)
        assert min(costs, key=costs.__getitem__) == form
        control = sx.Particles.draw(field, particles, form="auto", key=KEY)
        kind = {"dense": DenseSystem, "kernel": KernelSystem}[form]
        assert type(control.system(field, rows)) is kind


class Pulled(sx.AbstractField):
    """Linear in θ, on trees, with a drift and with arrays of its own that can be trained."""

    state = {"x": sx.shape(2), "v": sx.shape(3)}  # noqa: RUF012
    theta = {"up": sx.shape(3, 2), "down": (sx.shape(2, 3), sx.shape(2))}  # noqa: RUF012
    own: jax.Array

    def __call__(self, z, theta):
        weight, bias = theta["down"]
        dx = weight @ jnp.tanh(z["v"] * self.own) + bias - 0.3 * z["x"] ** 2
        return {"x": dx, "v": theta["up"] @ jnp.sin(z["x"]) * self.own}


FIELDS = {
    "tree": (Pulled(jnp.array([0.5, 1.2, -0.7])), None),
    "damped": (sx.DampedUpDown(2, 2, activation="tanh"), None),
    "convolution": (sx.ConvUpDown(1, (3,), 2, activation="tanh"), (3, 5)),
}


@pytest.mark.parametrize("name", usually(FIELDS, "tree"))
def test_the_linear_form_equals_automatic_differentiation_in_value_and_gradient(name):
    """Whatever the state is, with gradients for the field's own arrays; data may be larger images."""
    field, data_shape = FIELDS[name]
    rng = np.random.default_rng(8)

    def draw(rows, data=False):
        def one(leaf):
            size = data_shape if data and data_shape else leaf.shape
            return jnp.array(rng.normal(size=(rows, *size)))

        return jax.tree.map(one, field.state)

    q, p, z = draw(COUNT), draw(COUNT), draw(ROWS, data=True)
    probes = (draw(COUNT), draw(COUNT), draw(ROWS, data=True))
    drift = sx.maximisers.ClosedForm(drift=name != "convolution")
    penalty = sx.Quadratic(default=1.7)

    def pairing(given, form):
        field, q, p, z = given
        system = shooting_system(field, penalty, drift, ParticleState(q, p), ROWS, form)
        moved, dz = system.split(system(NOW, system.join(ParticleState(q, p), z)))
        got = (moved.q, moved.p, dz)
        products = jax.tree.map(lambda a, b: jnp.sum(a * b), got, probes)
        return jax.tree.reduce(jnp.add, products), got

    both = [
        eqx.filter_value_and_grad(pairing, has_aux=True)((field, q, p, z), form)
        for form in ("linear", "automatic")
    ]
    for a, b in zip(*(jax.tree.leaves(each) for each in both), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("particles", [6, 7, 8])
def test_particles_are_padded_without_a_trace(particles):
    """Also where a feature has no value at zero, and the count of those that are shown is right."""
    field = sx.FunctionField(lambda z, th: th @ jnp.log(z), state=sx.shape(9), theta=sx.shape(9, 9))
    q, z = (1 + jnp.abs(jax.random.normal(KEY, (rows, 9))) for rows in (particles, 5))
    p = 0.1 * jax.random.normal(jax.random.key(9), q.shape)

    def run(form):
        def value(q, p, z):
            system = sx.Particles(field, sx.Ensemble(q, p), form=form).system(field, 5)
            start = system.join(system.start(), z)
            if form == "dense":
                assert start.p.shape[0] == 8
            step = jax.tree.map(lambda a, b: a + 0.1 * b, start, system(NOW, start))
            moved, rows = system.split(step)
            return jnp.sum(rows**3) + jnp.sum(moved.q * moved.p), (moved, rows)

        return jax.jit(jax.value_and_grad(value, argnums=(0, 1, 2), has_aux=True))(q, p, z)

    plain = run("linear")  # which adds none
    assert_close(run("dense"), plain, rtol=1e-10, atol=1e-12)
    assert_close(run("kernel"), plain, rtol=1e-10, atol=1e-12)
