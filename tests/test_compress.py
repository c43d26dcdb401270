"""Weights turned back into particles, against truths that are known."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY
from shootax._compress import least_error
from shootax._compress.search import _problem, _Search

pytestmark = pytest.mark.usefixtures("standard_promotion")


def made_by(kind, field, particles, *, momentum=0.7, seed=5, steps=3):
    ensemble = sx.Ensemble.draw(
        field, particles, position=sx.Gaussian(), momentum=momentum, key=jax.random.key(seed)
    )
    return sx.Net(field, kind(field, ensemble), integrator=sx.RK4(steps), key=KEY)


@pytest.fixture(scope="module")
def static():
    """Free weights that two particles could have made, and what was found for them."""
    field = sx.Affine(4, activation="tanh")
    truth = made_by(sx.FrozenParticles, field, 2)
    theta = truth.control.theta_at_start(field)
    control = eqx.tree_at(lambda c: c.theta, sx.Static(field, key=KEY), theta)
    net = sx.Net(field, control, integrator=sx.RK4(3), key=KEY)
    with jax.numpy_dtype_promotion("standard"):
        return net, sx.compress(net, particles=(1, 2), starts=3, iterations=300)


def test_static_weights_of_rank_two_need_two_particles(static):
    net, found = static
    one, two = found.curve
    assert two.error < 1e-6
    assert found.reached
    assert found.net.control.ensemble.particles == 2
    assert isinstance(found.net.control, sx.FrozenParticles)
    assert two.parameters == 2 * 2 * 4 < found.original == sx.count(net) == 20
    x = jnp.asarray(np.random.default_rng(0).normal(size=(20, 4)))
    np.testing.assert_allclose(found.net(x), net(x), atol=1e-5)
    assert one.error > 0.05


def test_one_particle_reaches_the_best_matrix_of_rank_one(static):
    """By the singular values of (A, b), computed here on their own."""
    net, found = static
    theta = net.control.theta
    values = np.linalg.svd(np.column_stack([theta["A"], theta["b"]]), compute_uv=False)
    best = np.sqrt(np.sum(values[1:] ** 2) / np.sum(values**2))
    np.testing.assert_allclose(found.curve[0].bound, best, rtol=1e-10)
    np.testing.assert_allclose(found.curve[0].error, best, rtol=1e-3)


@pytest.mark.slow
def test_no_ensemble_is_below_the_bound():
    """Random ensembles, of a field with several parts, weights and a missing block."""
    field = sx.UpDown(2, 2, activation="tanh")
    penalty = sx.Quadratic(theta3=10.0)
    given = made_by(sx.FrozenParticles, field, 6).control.theta_at_start(field)
    stacked = {name: leaf[None] for name, leaf in given.items()}
    for particles in (1, 2, 3):
        bound = least_error(field, penalty, stacked, np.ones(1), particles)
        assert bound > 0.01
        for seed in range(5):
            other = made_by(sx.FrozenParticles, field, particles, seed=seed)
            theta = other.control.theta_at_start(field)
            gap = jax.tree.map(jnp.subtract, given, theta)
            assert float(jnp.sqrt(penalty(gap) / penalty(given))) >= bound


@pytest.mark.slow
def test_moving_particles_are_recovered_from_a_baked_net():
    """Two particles made the weights; one cannot, two can."""
    truth = made_by(sx.Particles, sx.Affine(2, activation="tanh"), 2, steps=4)
    plain = sx.bake(truth)
    found = sx.compress(plain, particles=(1, 2), starts=2, iterations=300, tolerance=1e-3)
    one, two = found.curve
    assert one.error > 20 * two.error
    assert two.error < 1e-3
    assert found.reached
    assert isinstance(found.net.control, sx.Particles)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(20, 2)))
    np.testing.assert_allclose(found.net(x), truth(x), atol=5e-3)


@pytest.mark.slow
def test_five_particles_of_an_updown_net_are_recovered():
    field = sx.UpDown(2, 3, activation="tanh")
    truth = made_by(sx.Particles, field, 5, momentum=0.5, seed=3, steps=5)
    found = sx.compress(sx.bake(truth), particles=(2, 5), starts=3, iterations=1500)
    few, five = found.curve
    assert five.error < 0.01 < few.error
    assert found.reached


@pytest.mark.slow
def test_outputs_can_be_matched_instead():
    field = sx.Affine(3, activation="tanh")
    net = sx.Net(field, sx.Static(field, key=KEY), integrator=sx.RK4(2), key=KEY)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(30, 3)))
    options = {"particles": (1, 3), "starts": 2, "iterations": 200, "tolerance": 0.05}
    found = sx.compress(net, x=x, match="outputs", **options)
    assert found.reached
    gap, spread = found.net(x) - net(x), net(x) - net(x).mean(0, keepdims=True)
    reported = {point.particles: point.error for point in found.curve}
    error = float(jnp.sqrt(jnp.sum(gap**2) / jnp.sum(spread**2)))
    np.testing.assert_allclose(error, reported[found.net.control.ensemble.particles], rtol=1e-6)
    assert error <= 0.05


@pytest.mark.slow
def test_the_search_begins_where_the_bound_allows_and_finds_the_fewest():
    field = sx.Affine(6, activation="tanh")
    theta = made_by(sx.FrozenParticles, field, 2).control.theta_at_start(field)
    control = eqx.tree_at(lambda c: c.theta, sx.Static(field, key=KEY), theta)
    net = sx.Net(field, control, integrator=sx.RK4(2), key=KEY)
    found = sx.compress(net, tolerance=1e-3, starts=3, iterations=300)
    assert found.reached
    assert found.net.control.ensemble.particles == 2
    assert min(point.particles for point in found.curve) == 2, "one particle cannot do it"


@pytest.fixture
def search():
    """A search whose errors are given, so that nothing is fitted."""
    field = sx.Affine(6, activation="tanh")
    net = sx.Net(field, sx.Static(field, key=KEY), integrator=sx.RK4(2), key=KEY)
    return _Search(net, _problem(net, None, "weights"), 1, 1, KEY)


def given(search, errors, bounds=lambda number: 0.0):
    tried = []

    def at(number):
        tried.append(number)
        search.found[number] = (errors(number), search.match.draw(number, KEY))
        return errors(number)

    search.at, search.bound = at, bounds
    return tried


@pytest.mark.parametrize(("tolerance", "chosen"), [(0.1, 2), (0.01, 3), (0.001, 3)])
def test_the_fewest_particles_that_suffice_are_chosen(search, tolerance, chosen):
    for number, error in ((3, 0.005), (1, 0.5), (2, 0.05), (4, 0.006)):
        given(search, lambda _, error=error: error)
        search.at(number)
    found = search.result(tolerance)
    assert [point.particles for point in found.curve] == [1, 2, 3, 4]
    assert found.net.control.ensemble.particles == chosen
    assert found.reached == (tolerance > 0.004)
    rest = sx.count(search.net) - sx.count(search.net.control)
    assert [point.parameters - rest for point in found.curve] == [12, 24, 36, 48]


@pytest.mark.parametrize(("first", "enough"), [(1, 3), (1, 1), (2, 2), (1, 99), (2, 3)])
def test_numbers_grow_and_the_gap_is_halved(search, first, enough):
    """42 weights are worth three particles of 12 numbers, so more are never tried."""
    tried = given(search, lambda n: 0.0 if n >= enough else 1.0, lambda n: 0.0 if n >= first else 1)
    search.automatic(0.01)
    assert tried[0] == first
    assert max(tried) == min(enough, 3)
    assert set(tried) == {*range(first, min(enough, 3) + 1)}


def test_a_larger_search_halves_the_gap(search):
    """From 1 by half each time to 9, and back to 7, the fewest."""
    tried = given(search, lambda n: 0.0 if n >= 7 else 1.0)
    search._original_control = lambda: 12 * 40
    search.automatic(0.01)
    assert list(dict.fromkeys(tried)) == [1, 2, 3, 4, 6, 9, 7]


def test_weights_are_read_at_the_steps_of_the_net():
    field = sx.Affine(2, activation="tanh")
    control = sx.Piecewise(field, 2, key=KEY)
    made = sx.Net(field, control, integrator=sx.Tsit5(), key=KEY)
    assert _problem(made, None, "weights").theta["A"].shape[0] == 20  # none of its own
    moving = eqx.tree_at(lambda n: n.integrator, made, sx.Euler(4))
    problem = _problem(moving, None, "weights")
    assert problem.theta["A"].shape[0] == 4
    assert not problem.still
    same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf[:1], leaf.shape), control.theta)
    held = eqx.tree_at(lambda n: n.control.theta, moving, same)
    assert _problem(held, None, "weights").still


def test_what_cannot_be_compressed_is_refused():
    layer = sx.SingleHiddenLayer(2, 3)
    net = sx.Net(layer, sx.Static(layer, key=KEY), key=KEY)
    with pytest.raises(ValueError, match="not linear in θ"):
        sx.compress(net)
    field = sx.Affine(2)
    net = sx.Net(field, sx.Static(field, key=KEY), key=KEY)
    with pytest.raises(ValueError, match="give x"):
        sx.compress(net, match="outputs")
