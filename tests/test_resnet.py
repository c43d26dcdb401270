"""Chains of convolutional blocks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import shootax as sx


def blocks(key=jax.random.key(0)):
    fields = sx.ConvAffine(2, size=(4, 4)), sx.ConvAffine(4, size=(2, 2))
    return tuple(
        sx.Net(
            field,
            sx.Particles.draw(field, 3, momentum=0.05, key=key),
            integrator=sx.Euler(2),
            key=key,
        )
        for field in fields
    )


@pytest.mark.parametrize("reduce", ["pool", "stride", "none"])
def test_transition_shapes(reduce):
    step = sx.nn.Transition((2, 6), reduce=reduce, groups=2, key=jax.random.key(0))
    x = jax.random.normal(jax.random.key(1), (3, 2, 8, 8))
    side = 8 if reduce == "none" else 4
    assert step(x).shape == (3, 6, side, side)


def test_pooling_is_the_mean_of_squares():
    step = sx.nn.Transition((1, 1), key=jax.random.key(0))
    step = eqx.tree_at(lambda t: t.weight, step, jnp.ones((1, 1)))
    x = jnp.arange(16.0).reshape(1, 1, 4, 4)
    assert jnp.allclose(step(x)[0, 0], jnp.array([[2.5, 4.5], [10.5, 12.5]]))


@pytest.mark.parametrize("passing", [pytest.param(False, marks=pytest.mark.slow), True])
def test_every_parameter_is_trained(passing):
    model = sx.nn.resnet(
        blocks(), inputs=1, classes=3, pass_particles=passing, key=jax.random.key(1)
    )
    x = jax.random.normal(jax.random.key(2), (2, 1, 8, 8))

    @eqx.filter_jit
    @eqx.filter_grad
    def slope(model):
        return jnp.sum(model(x) ** 2) + sx.penalty(model)

    assert model(x).shape == (2, 3)
    gradients = [leaf for leaf in jax.tree.leaves(slope(model)) if eqx.is_inexact_array(leaf)]
    assert all(bool(jnp.any(leaf != 0)) for leaf in gradients)


def test_particles_passed_on_have_no_positions_of_their_own():
    fresh = sx.nn.resnet(blocks(), inputs=1, classes=3, key=jax.random.key(1))
    passed = sx.nn.resnet(blocks(), inputs=1, classes=3, pass_particles=True, key=jax.random.key(1))
    assert sx.count(fresh) - sx.count(passed) == 3 * 4 * 2 * 2
    second = passed.body.resolved()[1]
    assert second.control.ensemble.q.shape == (3, 4, 2, 2)


def test_particles_move_as_data_do():
    passed = sx.nn.resnet(
        blocks(), inputs=1, classes=3, pass_particles=True, key=jax.random.key(1)
    ).body
    first = passed.nets[0]
    want = passed.transitions[0](first(first.control.ensemble.q))
    assert jnp.allclose(passed.resolved()[1].control.ensemble.q, want, atol=1e-12)


def test_break_even():
    field = sx.Affine(dim=20)
    assert sx.break_even(field, layers=10) == 10 * (20 + 1) / 2
    conv = sx.ConvAffine(100, size=(4, 10))
    assert sx.break_even(conv, layers=50) == 50 * (100**2 * 9 + 100) / (2 * 100 * 40)
