"""Chains of convolutional blocks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import shootax as sx
from shootax.nn._resnet import averaged


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
    with pytest.raises(ValueError, match=r"got \(2, 8, 8\).* add the channel axis"):
        fresh(jnp.ones((2, 8, 8)))
    with pytest.raises(ValueError, match=r"got \(2, 3, 8, 8\)\.$"):
        fresh(jnp.ones((2, 3, 8, 8)))
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


@pytest.mark.parametrize(
    "options", [{"padding": 1}, {"padding": 1, "stride": 2}, {"use_bias": False}]
)
def test_the_stem_is_its_convolution(options):
    """As one product where it keeps the size of the image, and as it is otherwise."""
    model = sx.nn.resnet(blocks(), inputs=2, classes=3, key=jax.random.key(1))
    stem = eqx.nn.Conv2d(2, 2, kernel_size=3, key=jax.random.key(2), **options)
    model = eqx.tree_at(lambda m: m.stem, model, stem)
    x = jax.random.normal(jax.random.key(3), (2, 2, 7, 6))
    assert jnp.allclose(model._stem(x), jax.vmap(stem)(x), atol=1e-12)


def test_cells_are_means_that_overlap_where_they_must():
    x = jnp.arange(7.0).reshape(1, 1, 7)
    assert jnp.allclose(averaged(x, 2), jnp.array([[1.5, 4.5]]))
    assert jnp.allclose(averaged(x, 7), x[0])
    image = jax.random.normal(jax.random.key(0), (2, 3, 4, 6))
    cells = averaged(image, 2)
    assert cells.shape == (2, 12)
    assert jnp.allclose(cells[:, 3:6], jnp.mean(image[:, :, :2, 3:], axis=(2, 3)))


@pytest.mark.parametrize("pool", ["none", "max"])
def test_a_stem_and_cells_make_a_classifier(pool):
    stem = sx.nn.ImageStem(1, (3, 2), widths=(5, 3), pool=pool, key=jax.random.key(0))
    assert all(layer.pool == pool for layer in stem.layers)
    made = {"inputs": 1, "classes": 5, "key": jax.random.key(1)}
    model = sx.nn.resnet(blocks()[:1], stem=stem, cells=2, **made)
    x = jax.random.normal(jax.random.key(2), (2, 1, 15, 15))
    small = jax.nn.relu(stem.layers[0](jnp.moveaxis(x, 1, -1)))
    want = jnp.moveaxis(stem.layers[1](small), -1, 1)
    assert stem(x).shape == (2, 2, 4, 4)
    assert jnp.allclose(stem(x), want)
    states = model.body(want)
    logits = averaged(states, 2) @ model.head.weight.T + model.head.bias[None]
    assert jnp.allclose(model(x), logits, atol=1e-12)
    with pytest.raises(ValueError, match=r"shape \(batch, 1, height, width\).*channel axis"):
        stem(x[:, 0])
    with pytest.raises(ValueError, match="one for each of 2 convolutions"):
        sx.nn.ImageStem(1, (3, 2), widths=(5,), key=jax.random.key(0))
