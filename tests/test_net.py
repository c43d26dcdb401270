"""Nets: lifts, readouts, chains, and life inside larger models."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import CONTROLS, KEY, assert_close, assert_same, inputs, make_net, usually

FIELD = sx.UpDown(2, 3, activation="tanh")
X = jnp.asarray(np.random.default_rng(0).normal(size=(4, 2)))


def net_with(**options) -> sx.Net:
    return sx.Net(FIELD, sx.Particles.draw(FIELD, 3, key=KEY), key=KEY, **options)


def test_the_visible_part_of_a_lifted_state_is_the_input():
    for lift in ("affine", "zero", "constant", "mlp"):
        states = net_with(lift=lift).lifted(X)
        assert states.shape == (4, 8)
        np.testing.assert_array_equal(states[:, :2], X)


def test_zero_lift():
    np.testing.assert_array_equal(net_with(lift="zero").lifted(X)[:, 2:], 0)


def test_constant_lift():
    net = net_with(lift="constant")
    np.testing.assert_array_equal(net.lifted(X)[:, 2:], 0)
    bias = jnp.arange(6.0)
    net = eqx.tree_at(lambda n: n.lift.bias, net, bias)
    np.testing.assert_array_equal(net.lifted(X)[:, 2:], np.tile(np.arange(6.0), (4, 1)))


def test_affine_lift_is_the_default():
    net = net_with()
    weight, bias = np.asarray(net.lift.weight), np.asarray(net.lift.bias)
    assert weight.shape == (6, 2)
    bound = 1 / np.sqrt(2)
    for array in (weight, bias):
        assert np.abs(array).max() <= bound
        assert np.abs(array).max() > 0.5 * bound
    np.testing.assert_allclose(net.lifted(X)[:, 2:], np.asarray(X) @ weight.T + bias, rtol=1e-14)


def test_mlp_lift():
    net = net_with(lift="mlp")
    first, second = net.lift.first, net.lift.second
    inner = np.tanh(np.asarray(X) @ np.asarray(first.weight).T + np.asarray(first.bias))
    outer = inner @ np.asarray(second.weight).T + np.asarray(second.bias)
    np.testing.assert_allclose(net.lifted(X)[:, 2:], outer, rtol=1e-12)


def test_a_user_s_lift():
    net = net_with(lift=eqx.nn.Linear(5, 8, key=KEY))
    assert net(jnp.ones((4, 5))).shape == (4, 2)


def test_a_field_without_hidden_state_is_lifted_by_nothing():
    net = make_net("affine", "static")
    assert isinstance(net.lift, sx.nn.IdentityLift)
    assert isinstance(net.readout, sx.nn.IdentityReadout)
    np.testing.assert_array_equal(net.lifted(X), X)


def test_an_identity_lift_takes_whole_states_only():
    net = net_with(lift="identity")
    with pytest.raises(ValueError, match="the lift passes on the whole state"):
        net(X)


def test_readouts_agree_on_the_states():
    states = np.asarray(net_with().states(X))
    assert states.shape == (4, 8)
    np.testing.assert_array_equal(net_with()(X), states[:, :2])
    np.testing.assert_array_equal(net_with(readout="x")(X), states[:, :2])
    np.testing.assert_array_equal(net_with(readout="identity")(X), states)


def test_linear_readout():
    net = net_with(readout=3)
    weight, bias = np.asarray(net.readout.weight), np.asarray(net.readout.bias)
    expected = np.asarray(net.states(X))[:, :2] @ weight.T + bias
    np.testing.assert_allclose(net(X), expected, rtol=1e-13)
    assert np.abs(weight).max() <= 1 / np.sqrt(2)


def test_a_user_s_readout():
    layer = eqx.nn.Linear(8, 5, key=KEY)
    net = net_with(readout=layer)
    expected = np.asarray(net.states(X)) @ np.asarray(layer.weight).T + np.asarray(layer.bias)
    np.testing.assert_allclose(net(X), expected, rtol=1e-13)
    assert sx.count(net) == sx.count(net_with()) + 8 * 5 + 5


@pytest.mark.parametrize("readout", ["x", "identity", 3])
def test_readouts_at_times(readout):
    """The last of the grid times is the end, shared or not."""
    net = net_with(readout=readout)
    times = np.array([0.0, 0.3, 1.0])
    shared = net(X, times)
    each = net(X, np.tile(times, (4, 1)))
    assert shared.shape == (4, 3, net(X).shape[1])
    np.testing.assert_allclose(shared[:, -1], net(X), rtol=1e-13)
    np.testing.assert_allclose(each, shared, rtol=1e-10)
    start = jax.vmap(net.readout)(net.lifted(X))
    np.testing.assert_allclose(shared[:, 0], start, rtol=1e-14)


def test_whole_numbers_are_taken_as_data():
    np.testing.assert_array_equal(net_with()(np.ones((4, 2), int)), net_with()(jnp.ones((4, 2))))


def test_the_net_s_final_time_and_integrator_are_used():
    """One Euler step of dz/dt = A σ(z) + b by hand, over T = 2.5."""
    net = make_net("affine", "static", integrator=sx.Euler(steps=1), T=2.5)
    theta = {name: np.asarray(value) for name, value in net.control.theta.items()}
    by_hand = np.asarray(X) + 2.5 * (np.tanh(np.asarray(X)) @ theta["A"].T + theta["b"])
    np.testing.assert_allclose(net(X), by_hand, rtol=1e-13)


def test_chain_is_one_net_after_the_other():
    first, second = make_net("updown", "particles"), make_net("affine", "frozen")
    chain = sx.Chain(first, jnp.tanh, second)
    np.testing.assert_array_equal(chain(X), second(jnp.tanh(first(X))))
    assert sx.count(chain) == sx.count(first) + sx.count(second)
    np.testing.assert_allclose(sx.penalty(chain), sx.penalty(first) + sx.penalty(second))


class Larger(eqx.Module):
    """A model of which a net is one part among others."""

    encoder: eqx.nn.Linear
    net: sx.Net
    decoder: eqx.nn.MLP

    def __call__(self, x):
        return jax.vmap(self.decoder)(self.net(jax.vmap(self.encoder)(x)))


UPDOWN = [("updown", name) for name in ("particles", "frozen", "static", "piecewise")]


@pytest.mark.parametrize(
    ("field", "control"),
    [
        *usually([("rotor", name) for name in CONTROLS], ("rotor", "static"), ("rotor", "given")),
        *usually(UPDOWN, UPDOWN[0]),
    ],
)
def test_gradients_reach_every_parameter_of_a_larger_model(field, control):
    net = make_net(field, control, integrator=sx.RK4(steps=2))
    size = inputs(net.field).shape[1]
    keys = jax.random.split(KEY)
    model = Larger(
        eqx.nn.Linear(5, size, key=keys[0]), net, eqx.nn.MLP(size, 1, 4, 1, jnp.tanh, key=keys[1])
    )
    x = jnp.asarray(np.random.default_rng(3).normal(size=(6, 5)))
    gradient = eqx.filter_grad(lambda m: jnp.mean(m(x) ** 2) + sx.penalty(m))(model)
    for path, leaf in jax.tree.leaves_with_path(gradient):
        assert np.isfinite(leaf).all(), jax.tree_util.keystr(path)
        assert np.abs(leaf).max() > 0, jax.tree_util.keystr(path)


def test_jit_gives_the_same():
    net = net_with()
    assert_close(eqx.filter_jit(net)(X), net(X))


def test_a_net_is_a_tree():
    net = net_with()
    leaves, tree = jax.tree.flatten(net)
    assert_same(jax.tree.unflatten(tree, leaves), net)


@pytest.mark.parametrize("formulation", usually(sx.FORMULATIONS, "dynamic-particles"))
def test_vmap_over_stacked_nets(formulation):
    """Several seeds as one program equal the seeds one by one."""

    def make(key):
        made = sx.formulation(formulation, FIELD, particles=3, key=key)
        return sx.Net(FIELD, made, integrator=sx.RK4(steps=3), key=key)

    keys = jax.random.split(KEY, 3)
    together = eqx.filter_vmap(lambda net: net(X))(eqx.filter_vmap(make)(keys))
    for i, key in enumerate(keys):
        np.testing.assert_allclose(together[i], make(key)(X), rtol=1e-12, atol=1e-14)


def test_seeds_matter():
    first, second = (sx.Net(FIELD, particles=3, key=jax.random.key(seed)) for seed in range(2))
    assert not np.allclose(first(X), second(X))
    assert_same(first, sx.Net(FIELD, particles=3, key=jax.random.key(0)))
