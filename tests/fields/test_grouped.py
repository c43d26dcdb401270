"""The grouped convolution, a structured field that stands in one file."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax._hamiltonian import pairing, theta_star

KEY = jax.random.key(0)
CASES = [(4, (5,), 2, 3), (4, (3, 4), 2, 3), (3, (3, 3), None, 2), (2, (4, 3), 1, 3)]


def make(channels, size, groups, window):
    return sx.ConvGrouped(channels, size, groups, window=window, activation="tanh")


def random(template, rng, *leading):
    return jax.tree.map(
        lambda leaf: jnp.asarray(rng.normal(size=(*leading, *leaf.shape))), template
    )


def by_hand(field, z, theta):
    """The definition, number by number."""
    z, a, b = np.tanh(np.asarray(z)), np.asarray(theta["A"]), np.asarray(theta["b"])
    per, reach, space = field.channels // field.groups, field.window // 2, z.shape[1:]
    out = np.zeros_like(z)
    for c, place in itertools.product(range(field.channels), np.ndindex(*space)):
        total = b[c]
        for i, offset in itertools.product(range(per), np.ndindex(*a.shape[2:])):
            at = tuple(x + o - reach for x, o in zip(place, offset, strict=True))
            if all(0 <= x < n for x, n in zip(at, space, strict=True)):
                total += a[(c, i, *offset)] * z[((c // per) * per + i, *at)]
        out[(c, *place)] = total
    return out


@pytest.mark.parametrize("case", CASES)
def test_velocity_is_the_definition(case):
    field, rng = make(*case), np.random.default_rng(0)
    z, theta = random(field.state, rng), random(field.theta, rng)
    np.testing.assert_allclose(field(z, theta), by_hand(field, z, theta), rtol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_optimal_weights_are_those_of_automatic_differentiation(case):
    field, rng = make(*case), np.random.default_rng(1)
    q, p = (random(field.state, rng, 3) for _ in range(2))
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), field.theta)
    gradient = jax.grad(pairing, argnums=3)(field, q, p, zero)
    got = theta_star(field, sx.Quadratic(A=2.0), q, p)
    np.testing.assert_allclose(got["A"], gradient["A"] / 2, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(got["b"], gradient["b"], rtol=1e-12, atol=1e-14)


def test_one_group_is_the_affine_convolution():
    grouped, full = make(2, (3, 3), 1, 3), sx.ConvAffine(2, (3, 3), activation="tanh")
    rng = np.random.default_rng(2)
    z, theta = random(full.state, rng), random(full.theta, rng)
    np.testing.assert_allclose(grouped(z, theta), full(z, theta), rtol=1e-12)


@pytest.fixture(scope="module")
def net():
    return sx.Net(make(2, (3, 3), None, 3), particles=3, integrator=sx.RK4(steps=3), key=KEY)


X = np.random.default_rng(3).normal(size=(2, 2, 4, 5))  # other images than those of the particles


def test_particles_take_the_closed_form_and_conserve_the_penalty(net):
    assert isinstance(net.control.maximiser, sx.maximisers.ClosedForm)
    assert net(X).shape == X.shape
    assert float(sx.hamiltonian_drift(net)) < 1e-4


def test_baked_is_live(net):
    np.testing.assert_allclose(sx.bake(net)(X), net(X), rtol=1e-10)


def test_save_and_load(net, tmp_path):
    sx.save(tmp_path / "grouped.safetensors", net)
    loaded = sx.load(tmp_path / "grouped.safetensors")
    assert loaded.field == net.field
    np.testing.assert_array_equal(loaded(X), net(X))


@pytest.mark.slow
def test_training_gradient_is_that_of_differentiating_the_hamiltonian(net):
    def gradient(form):
        control = sx.Particles(net.field, net.control.ensemble, form=form)
        same = eqx.tree_at(lambda n: n.control, net, control)
        loss = eqx.filter_grad(lambda n: jnp.sum(n(X) ** 2) + sx.penalty(n))
        return loss(same).control.ensemble

    ours, plain = gradient("auto"), gradient("automatic")
    for got, want in zip(jax.tree.leaves(ours), jax.tree.leaves(plain), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
        assert np.abs(want).max() > 1e-3


def test_groups_must_divide_the_channels():
    with pytest.raises(ValueError, match="groups must divide the number of channels, got 2 groups"):
        sx.ConvGrouped(3, (4,), 2)
