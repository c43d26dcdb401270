"""A single hidden layer of ReLUs under the Barron penalty."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax._hamiltonian import hamiltonian
from shootax._maximisers.hidden_layer import incoming
from shootax._maximisers.vertex_search import on_sphere, project

FIELD = sx.SingleHiddenLayer(dim=2, width=12, activation="relu")
PENALTY = sx.Barron()


def ensemble(particles=6, seed=0):
    return sx.Ensemble.draw(FIELD, particles, momentum=0.2, key=jax.random.key(seed))


def height(q, p, u):
    """|g(w, b)|, by a loop over particles."""
    q, p = np.asarray(q), np.asarray(p)
    g = sum(p_i * max(u[:2] @ q_i + u[2], 0.0) for q_i, p_i in zip(q, p, strict=True))
    return float(np.linalg.norm(g))


def test_penalty_and_field_do_not_change_when_neurons_are_rescaled():
    random = np.random.default_rng(0)
    theta = {name: random.normal(size=leaf.shape) for name, leaf in FIELD.theta.items()}
    loop = sum(
        np.sum(theta["theta1"][:, j] ** 2)
        * (np.sum(np.abs(theta["theta2"][j])) + abs(theta["b2"][j])) ** 2
        for j in range(12)
    )
    np.testing.assert_allclose(
        PENALTY(theta), loop / 24 + 0.5 * np.sum(theta["b1"] ** 2), rtol=1e-12
    )
    s = random.uniform(0.1, 5, 12)
    other = {
        **theta,
        "theta1": theta["theta1"] / s,
        "theta2": theta["theta2"] * s[:, None],
        "b2": theta["b2"] * s,
    }
    np.testing.assert_allclose(PENALTY(other), PENALTY(theta), rtol=1e-12)
    z = jnp.array([0.3, -1.2])
    np.testing.assert_allclose(FIELD(z, other), FIELD(z, theta), rtol=1e-12)


def test_projection_is_the_nearest_point_of_the_ball():
    random = np.random.default_rng(0)
    points = 1.5 * random.normal(size=(40, 3))
    found = np.asarray(project(jnp.asarray(points)))
    others = np.asarray(on_sphere(jnp.asarray(random.normal(size=(20_000, 3)))))
    for point, near in zip(points, found, strict=True):
        assert np.abs(near).sum() <= 1 + 1e-12
        if np.abs(point).sum() <= 1:
            np.testing.assert_array_equal(near, point)
        else:
            best = np.min(np.linalg.norm(others - point, axis=1))
            assert np.linalg.norm(near - point) <= best + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_every_neuron_is_at_a_local_maximum_and_one_at_the_highest(seed):
    drawn = ensemble(seed=seed)
    found = sx.maximisers.maximise(
        FIELD, PENALTY, drawn.q, drawn.p, maximiser=sx.maximisers.VertexSearch()
    )
    assert bool(found.converged)
    directions = np.asarray(incoming(found.theta))
    np.testing.assert_allclose(np.abs(directions).sum(axis=1), 1, rtol=1e-10)
    heights = [height(drawn.q, drawn.p, u) for u in directions]
    random = np.random.default_rng(seed)
    for u, top in zip(directions, heights, strict=True):
        steps = 1e-4 * random.normal(size=(200, 3))
        around = [v / np.abs(v).sum() for v in u + steps]
        assert max(height(drawn.q, drawn.p, v) for v in around) <= top + 1e-9
    # All corners of the arrangement, by solving for each pair of kinks and edges.
    planes = np.concatenate([np.c_[drawn.q, np.ones(6)], np.eye(3)])
    crosses = [np.cross(a, b) for a, b in itertools.combinations(planes, 2)]
    corners = [s * v / np.abs(v).sum() for v in crosses if np.abs(v).sum() > 1e-9 for s in (1, -1)]
    highest = max(height(drawn.q, drawn.p, u) for u in corners)
    np.testing.assert_allclose(max(heights), highest, rtol=1e-9)


def test_outgoing_weights_and_bias_are_at_the_maximum():
    drawn = ensemble()
    theta = sx.maximisers.maximise(
        FIELD, PENALTY, drawn.q, drawn.p, maximiser=sx.maximisers.VertexSearch()
    ).theta
    slope = jax.grad(hamiltonian, argnums=4)(FIELD, PENALTY, drawn.q, drawn.p, theta)
    assert float(jnp.max(jnp.abs(slope["theta1"]))) < 1e-10
    assert float(jnp.max(jnp.abs(slope["b1"]))) < 1e-10


def test_training_gradient_is_that_of_finite_differences():
    drawn = ensemble()
    maximiser = sx.maximisers.VertexSearch()
    guess = sx.maximisers.maximise(FIELD, PENALTY, drawn.q, drawn.p, maximiser=maximiser).theta
    z = jnp.array([[0.4, -0.3], [-1.0, 0.8]])

    @jax.jit
    def loss(q, p):
        theta = maximiser(FIELD, PENALTY, q, p, guess).theta
        return jnp.sum(jnp.sin(jax.vmap(lambda z: FIELD(z, theta))(z)))

    gradients = jax.grad(loss, argnums=(0, 1))(drawn.q, drawn.p)
    random, h = np.random.default_rng(1), 1e-6
    for _ in range(4):
        dq, dp = random.normal(size=(2, 6, 2))
        ahead, behind = (loss(drawn.q + s * h * dq, drawn.p + s * h * dp) for s in (1, -1))
        want = jnp.sum(gradients[0] * dq) + jnp.sum(gradients[1] * dp)
        np.testing.assert_allclose((ahead - behind) / (2 * h), want, rtol=1e-5, atol=1e-8)


@pytest.mark.slow
def test_hamiltonian_is_conserved_between_jumps():
    drawn = ensemble()
    control = sx.Particles(FIELD, drawn, penalty=PENALTY, T=0.001)
    net = sx.Net(FIELD, control, integrator=sx.RK4(8), key=jax.random.key(0))
    moved = net.states(drawn.q) - drawn.q
    assert float(jnp.max(jnp.abs(moved))) > 0.05
    assert float(sx.hamiltonian_drift(net)) < 1e-9


def test_other_activations_are_not_rescaled():
    field = sx.SingleHiddenLayer(dim=2, width=3, activation="tanh")
    control = sx.Particles.draw(field, 4, penalty=PENALTY, key=jax.random.key(0))
    assert isinstance(control.maximiser, sx.maximisers.Unrolled)
    with pytest.raises(ValueError, match="ReLU and the Barron"):
        sx.Particles(
            field, control.ensemble, penalty=PENALTY, maximiser=sx.maximisers.VertexSearch()
        )
