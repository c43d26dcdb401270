"""The complexity of flows: bounds from above, an estimate from below, and a class that is known."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from theory_models import FIELDS, inputs, random_net

import shootax as sx
from shootax import theory


def scalar_net(a, T=1.0):
    """$\\dot x = a x$ with a bias that is too expensive to use: the class is $x e^s$, $|s| ≤ aT$."""
    field = sx.Affine(1, activation="identity")
    control = sx.Static(field, penalty=sx.Quadratic(b=1e12), T=T, key=jax.random.key(0))
    control = eqx.tree_at(lambda c: c.theta, control, {"A": jnp.array([[a]]), "b": jnp.zeros(1)})
    return sx.Net(field, control, key=jax.random.key(0))


@pytest.mark.parametrize("a", [0.05, 0.5, 1.5])
def test_a_class_whose_complexity_is_known(a):
    x = np.random.default_rng(0).normal(size=(8, 1))
    sums = [abs(np.dot(signs, x[:, 0])) for signs in itertools.product((-1, 1), repeat=8)]
    exact = np.mean(sums) / 8 * np.sinh(a)
    found = theory.rademacher(scalar_net(a), jnp.asarray(x))
    assert exact <= found.short
    assert exact <= found.rigorous
    if a == 0.05:  # to first order only the constant of Gaussians and Jensen's inequality are lost
        assert found.rigorous < 2 * exact


def test_the_bounds_fall_as_the_square_root_of_the_samples():
    field = FIELDS["updown-softplus"]()
    net, x = random_net(field, 0), inputs(field)
    few, many = (theory.rademacher(net, data) for data in (x, jnp.tile(x, (4, 1))))
    np.testing.assert_allclose(few.short, 2 * many.short)
    np.testing.assert_allclose(few.rigorous, 2 * many.rigorous)


@pytest.mark.parametrize("name", ["updown-tanh"])
def test_the_estimate_from_below_is_below(name):
    field = FIELDS[name]()
    x = inputs(field, samples=16)
    for momentum in (0.03, 0.3):
        net = random_net(field, 1, momentum, steps=5)
        bounds = theory.rademacher(net, x)
        found = theory.rademacher_estimate(net, x, draws=6, iterations=40, key=jax.random.key(0))
        assert found.value > 0
        assert found.value + 3 * found.standard_error < bounds.rigorous
        assert found.value < bounds.short


def test_what_is_read_out_counts():
    """The hidden state adds to the complexity of a net whose output is the whole state."""
    field = FIELDS["updown-softplus"]()
    net, x = random_net(field, 0), inputs(field)
    whole = eqx.tree_at(lambda n: n.readout, net, sx.nn.IdentityReadout())
    part, everything = theory.rademacher(net, x), theory.rademacher(whole, x)
    assert part.vector < everything.vector
    assert part.kernel <= everything.kernel
    sparse = FIELDS["sparse"]()  # two groups, both visible
    assert np.isfinite(theory.rademacher(random_net(sparse, 0), inputs(sparse)).vector)


def test_no_norm_no_complexity():
    field = FIELDS["affine-gelu"]()
    net = random_net(field, 0)
    still = eqx.tree_at(lambda n: n.control.ensemble.p, net, replace_fn=jnp.zeros_like)
    found = theory.rademacher(still, inputs(field))
    assert found.short == found.rigorous == 0


def test_the_rigorous_bound_needs_finitely_many_weights():
    field = FIELDS["rkhs"]()
    found = theory.rademacher(random_net(field, 0), inputs(field))
    assert np.isfinite(found.short)
    assert found.rigorous == np.inf


def test_generalisation():
    field = FIELDS["updown-softplus"]()
    net, x = random_net(field, 0, 0.1), inputs(field, samples=100)
    loose, strict = (
        theory.generalisation_bound(net, x, loss_lipschitz=1.0, loss_sup=1.0, delta=delta)
        for delta in (0.1, 0.001)
    )
    assert loose.complexity == strict.complexity
    assert loose.confidence < strict.confidence
    norm = 2 * float(net.control.penalty_at_start(field))
    assert norm <= loose.norm_squared < 2 * norm
    assert loose.complexity >= 2 * np.sqrt(np.pi / 2) * theory.rademacher(net, x).vector
    with pytest.raises(ValueError, match="delta must lie"):
        theory.generalisation_bound(net, x, loss_lipschitz=1.0, loss_sup=1.0, delta=2.0)


def test_the_estimate_needs_particles():
    with pytest.raises(ValueError, match="Particles"):
        theory.rademacher_estimate(scalar_net(1.0), jnp.ones((3, 1)), key=jax.random.key(0))
