"""Fewer steps for a baked net, with θ(t) kept, and what that costs."""

import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, inputs, make_net


@pytest.fixture(scope="module")
def case():
    net = make_net("updown", "particles", integrator=sx.RK4(steps=16), T=1.5)
    x = inputs(net.field, rows=40)
    return net, x, sx.bake_report(net, x, steps=(16, 8, 4))


def test_errors_are_those_of_the_baked_nets_and_of_fourth_order(case):
    net, x, lines = case
    assert [line.steps for line in lines] == [16, 8, 4]
    assert lines[0].largest < 1e-12, "its own steps give its own outputs"
    for line in lines[1:]:
        gap = np.asarray(sx.bake(net, integrator=sx.RK4(line.steps))(x) - net(x))
        np.testing.assert_allclose(line.largest, np.abs(gap).max(), rtol=1e-10)
        np.testing.assert_allclose(line.error, np.sqrt(np.mean(gap**2)), rtol=1e-10)
    assert lines[2].error > 12 * lines[1].error, "halving the steps, at order four or better"


def test_the_fewest_steps_within_a_tolerance(case):
    net, x, lines = case
    size = float(jnp.max(jnp.abs(net(x))))
    plain = sx.bake_within(net, x, tolerance=1.01 * lines[1].largest / size)
    steps = plain.integrator.steps
    assert steps <= 8, "eight steps are within it"
    assert float(jnp.max(jnp.abs(plain(x) - net(x)))) <= 1.01 * lines[1].largest
    fewer = sx.bake(net, integrator=sx.RK4(steps - 1))(x)
    assert float(jnp.max(jnp.abs(fewer - net(x)))) > 1.01 * lines[1].largest
    assert sx.bake_within(net, x, tolerance=1e-15).integrator.steps == 16
    with pytest.raises(ValueError, match="tolerance must be"):
        sx.bake_within(net, x, tolerance=0.0)


def test_theta_stays_that_of_the_live_net(case):
    """Particles on the coarse grid would have weights of their own; here they have the net's."""
    net, _, _ = case
    coarse = sx.bake(net, integrator=sx.RK4(steps=4)).control.theta
    times = np.array([0.0, 0.5, 0.5, 1.0]) * 1.5 / 4 + 1.5 / 4  # the stages of the second step
    path = sx.theta_path(net, times)
    for name, value in path.items():
        np.testing.assert_allclose(coarse[name][1], value, rtol=1e-12, atol=1e-14)


def test_counts(case):
    net, _, lines = case
    theta = sum(leaf.size for leaf in net.field.theta.values())
    lift = sx.count(net.lift)
    for line in lines:
        assert line.evaluations == 4 * line.steps
        assert line.parameters == lift + line.evaluations * theta
        assert line.operations == line.evaluations * 2 * 8 * 9  # Θ has a line for each entry of z
    assert len({line.live_operations for line in lines}) == 1
    assert lines[0].live_operations > 0


@pytest.mark.slow
def test_counts_of_other_fields():
    field = sx.ConvAffine(2, (3, 3))
    net = sx.Net(field, particles=2, integrator=sx.Euler(4), key=KEY)
    lines = sx.bake_report(net, jnp.ones((2, 2, 3, 3)))
    assert [line.steps for line in lines] == [4, 2, 1]
    assert lines[0].operations == 4 * 2 * 9 * (2 * 2 * 9 + 2)


def test_an_adaptive_net_has_no_steps_to_compare():
    net = make_net("affine", "static", integrator=sx.Tsit5())
    with pytest.raises(ValueError, match="Tsit5 has no fixed steps"):
        sx.bake_report(net, inputs(net.field))


@pytest.mark.slow
def test_passed_particles_are_baked_to_a_chain():
    nets = tuple(
        sx.Net(sx.ConvAffine(c, (s, s)), particles=2, integrator=sx.Euler(2), key=KEY)
        for c, s in ((2, 4), (3, 2))
    )
    model = sx.nn.resnet(nets, inputs=1, classes=2, pass_particles=True, key=KEY)
    plain = sx.bake(model)
    x = jnp.asarray(np.random.default_rng(0).normal(size=(3, 1, 4, 4)))
    assert isinstance(plain.body, sx.Chain)
    np.testing.assert_allclose(plain(x), model(x), rtol=1e-11, atol=1e-12)
