"""Convolutional fields in one and two dimensions."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import usually
from shootax._hamiltonian import theta_star

FIELDS = {
    "affine-1d": sx.ConvAffine(3, size=(5,), activation="tanh"),
    "affine-2d": sx.ConvAffine(2, size=(4, 3), activation="tanh"),
    "updown-1d": sx.ConvUpDown(2, size=(5,), inflation=2, activation="tanh"),
    "updown-2d": sx.ConvUpDown(1, size=(4, 4), inflation=3, activation="tanh"),
    "even-window": sx.ConvAffine(2, size=(5,), window=2, activation="tanh"),
}


def drawn(field, momentum=0.05):
    return sx.Ensemble.draw(field, 3, momentum=momentum, key=jax.random.key(0))


@pytest.mark.parametrize("name", ["affine-1d", "affine-2d"])
def test_it_is_a_convolution(name):
    field = FIELDS[name]
    theta = jax.tree.map(lambda leaf: jax.random.normal(jax.random.key(1), leaf.shape), field.theta)
    z = jax.random.normal(jax.random.key(2), field.state.shape)
    want = jax.lax.conv_general_dilated(
        jnp.tanh(z)[None], theta["A"], (1,) * len(field.size), "SAME"
    )[0]
    bias = theta["b"].reshape(-1, *(1,) * len(field.size))
    assert jnp.allclose(field(z, theta), want + bias, atol=1e-12)


@pytest.mark.parametrize(("size", "window"), [((5,), 2), ((6,), 4), ((4, 3), 2), ((5,), 3)])
def test_padding_of_any_window_by_hand(size, window):
    """Filter entry k sees the pixel k - window//2 further on: an even window reaches further back."""
    field, rng = (
        sx.ConvAffine(2, size=size, window=window, activation="tanh"),
        np.random.default_rng(0),
    )
    theta = {name: rng.normal(size=leaf.shape) for name, leaf in field.theta.items()}
    z = rng.normal(size=(2, *size))
    want = np.zeros_like(z) + theta["b"].reshape(-1, *(1,) * len(size))
    for place in np.ndindex(*size):
        for k in np.ndindex(*(window,) * len(size)):
            source = tuple(i + j - window // 2 for i, j in zip(place, k, strict=True))
            if all(0 <= i < n for i, n in zip(source, size, strict=True)):
                weights = theta["A"][(slice(None), slice(None), *k)]
                want[(slice(None), *place)] += weights @ np.tanh(z[(slice(None), *source)])
    got = field(jnp.asarray(z), jax.tree.map(jnp.asarray, theta))
    np.testing.assert_allclose(got, want, atol=1e-12)


@pytest.mark.parametrize("name", usually(FIELDS, "updown-1d"))
def test_automatic_is_closed_form(name):
    """θ* by momenta times patches is the gradient of the Hamiltonian, and so are its derivatives."""
    field, ensemble = FIELDS[name], drawn(FIELDS[name])
    weights = {next(iter(field.theta)): 3.0}

    def size(solve, q, p):
        theta = solve(q, p)
        return sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta)), theta

    penalty = sx.Quadratic(weights)
    closed = sx.Particles(field, ensemble, penalty=penalty).maximiser
    ways = (
        lambda q, p: closed(field, penalty, q, p, None).theta,
        lambda q, p: theta_star(field, penalty, q, p),
    )
    results = [
        jax.value_and_grad(size, argnums=(1, 2), has_aux=True)(way, ensemble.q, ensemble.p)
        for way in ways
    ]
    for a, b in zip(*map(jax.tree.leaves, results), strict=True):
        assert jnp.allclose(a, b, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize("name", usually(["affine-2d", "updown-1d"], "affine-2d"))
def test_hamiltonian_is_conserved_to_fourth_order(name):
    field = FIELDS[name]

    def drift(steps):
        control = sx.Particles(field, drawn(field))
        net = sx.Net(field, control, integrator=sx.RK4(steps), key=jax.random.key(1))
        return float(sx.hamiltonian_drift(net))

    assert drift(10) < 1e-4
    assert drift(20) < drift(10) / 10


def test_particles_may_be_smaller_than_the_data():
    field = FIELDS["affine-2d"]
    control = sx.Particles(field, drawn(field))
    z = jax.random.normal(jax.random.key(3), (2, 2, 7, 9))
    out = sx.flow(field, control, z, integrator=sx.Euler(2))
    assert out.shape == z.shape
    with pytest.raises(ValueError, match="The states must have shape"):
        sx.flow(field, control, z[:, :1])


def test_channels_are_lifted_and_read_off():
    field = FIELDS["updown-2d"]
    net = sx.Net(field, sx.Particles(field, drawn(field)), integrator=sx.Euler(2),
                 key=jax.random.key(0))  # fmt: skip
    x = jax.random.normal(jax.random.key(1), (2, 1, 6, 6))
    assert net(x).shape == x.shape
    assert sx.bake(net)(x).shape == x.shape
    assert jnp.allclose(sx.bake(net)(x), net(x), atol=1e-12)
