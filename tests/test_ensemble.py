"""Particles and where they start."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, Pendulum, assert_same

FIELD = sx.UpDown(2, 3)
MANY = 4000


def draw(position, particles=MANY, **options):
    ensemble = sx.Ensemble.draw(FIELD, particles, position=position, key=KEY, **options)
    return np.asarray(ensemble.q), np.asarray(ensemble.p)


def test_shapes():
    q, p = draw(sx.Uniform(), 5)
    assert q.shape == p.shape == (5, 8)
    assert sx.Ensemble.draw(FIELD, 5, key=KEY).particles == 5


def test_uniform():
    q, _ = draw(sx.Uniform(-2.0, 1.0, hidden=0.3))
    visible, hidden = q[:, :2], q[:, 2:]
    assert visible.min() >= -2
    assert visible.max() <= 1
    assert visible.min() < -1.99
    assert visible.max() > 0.99
    np.testing.assert_allclose(visible.mean(), -0.5, atol=0.05)
    np.testing.assert_allclose(visible.std(), 3 / np.sqrt(12), rtol=0.03)
    np.testing.assert_allclose(hidden.std(), 0.3, rtol=0.03)
    np.testing.assert_allclose(hidden.mean(), 0, atol=0.02)


def test_gaussian():
    q, _ = draw(sx.Gaussian(std=2.0, hidden=0.1))
    np.testing.assert_allclose(q[:, :2].std(), 2, rtol=0.03)
    np.testing.assert_allclose(q[:, 2:].std(), 0.1, rtol=0.03)
    np.testing.assert_allclose(q.mean(), 0, atol=0.05)


def test_momentum_scale():
    _, p = draw(sx.Uniform())
    np.testing.assert_allclose(p.std(), FIELD.default_momentum(MANY), rtol=0.03)
    _, p = draw(sx.Uniform(), momentum=3.0)
    np.testing.assert_allclose(p.std(), 3, rtol=0.03)
    _, p = draw(sx.Uniform(), 5, momentum=0.0)
    np.testing.assert_array_equal(p, 0)


def test_positions_and_momenta_are_independent():
    q, p = draw(sx.Gaussian(hidden=1.0))
    correlation = np.corrcoef(np.concatenate([q, p], 1).T)
    np.testing.assert_allclose(correlation, np.eye(16), atol=0.08)


@pytest.mark.parametrize("particles", [1, 7, 10])
def test_from_data_takes_no_row_twice(particles):
    data = np.arange(20.0).reshape(10, 2)
    q, _ = draw(sx.FromData(data, hidden=0.2), particles)
    rows = {tuple(row) for row in q[:, :2]}
    assert len(rows) == particles
    assert rows <= {tuple(row) for row in data}


def test_from_data_repeats_rows_where_it_must():
    data = np.arange(6.0).reshape(3, 2)
    q, _ = draw(sx.FromData(data, hidden=0.2))
    assert {tuple(row) for row in q[:, :2]} == {tuple(row) for row in data}
    np.testing.assert_allclose(q[:, 2:].std(), 0.2, rtol=0.03)


def test_particles_on_the_data():
    """K = n, the paper's un-approximated shooting: positions are the lifted data, exactly."""
    states = jnp.asarray(np.random.default_rng(0).normal(size=(6, 8)))
    ensemble = sx.Ensemble.on(states, momentum=0.5, key=KEY)
    np.testing.assert_array_equal(ensemble.q, states)
    assert ensemble.p.shape == (6, 8)
    net = sx.Net(FIELD, sx.Particles(FIELD, ensemble), lift="identity", key=KEY)
    at_end = sx.flow(FIELD, net.control, states, integrator=net.integrator)
    assert np.isfinite(at_end).all()


def test_particles_keep_the_precision_of_the_states():
    ensemble = sx.Ensemble.on(jnp.zeros((3, 8), jnp.float32), key=KEY)
    assert ensemble.p.dtype == jnp.float32


def test_trees_of_states():
    ensemble = sx.Ensemble.draw(Pendulum(), 4, position=sx.Gaussian(2.0), key=KEY)
    assert jax.tree.map(jnp.shape, ensemble.q) == {"x": (4, 2), "v": (4, 3)}
    assert jax.tree.map(jnp.shape, ensemble.p) == {"x": (4, 2), "v": (4, 3)}
    assert not np.allclose(ensemble.p["x"][:, :2], ensemble.p["v"][:, :2])


def test_the_key_decides():
    first, again = (sx.Ensemble.draw(FIELD, 4, key=KEY) for _ in range(2))
    assert_same(first, again)
    other = sx.Ensemble.draw(FIELD, 4, key=jax.random.key(1))
    assert not np.allclose(first.q, other.q)


def test_a_user_s_initialiser():
    class Grid(sx.extend.AbstractPosition):
        def __call__(self, field, particles, key):
            return jnp.linspace(0.0, 1.0, particles)[:, None] * jnp.ones((1, 8))

    q, _ = draw(Grid(), 3)
    np.testing.assert_array_equal(q[:, 0], [0.0, 0.5, 1.0])


def test_free_weights_start_in_their_bounds():
    field = sx.UpDown(2, 50)
    theta = sx.Static(field, scale=0.5, key=KEY).theta
    for name, fan_in in (("theta1", 100), ("theta2", 2), ("theta3", 100)):
        bound = 0.5 / np.sqrt(fan_in)
        assert np.abs(theta[name]).max() <= bound
        assert np.abs(theta[name]).max() > 0.9 * bound
        np.testing.assert_allclose(np.std(theta[name]), bound / np.sqrt(3), rtol=0.15)
    np.testing.assert_array_equal(theta["b1"], 0)
    blocks = sx.Piecewise(field, 3, key=KEY).theta["theta1"]
    assert blocks.shape == (3, 2, 100)
    assert not np.allclose(blocks[0], blocks[1])
