"""The heart of the matter: trained shooting is a critical point of the energy of free weights.

With one particle on every sample and the lift held fixed, momenta trained to convergence give a path
θ(t) at which the energy $∫R\\, dt + γ Σ_i ℓ(z_i(T))$ of a *free* path has no gradient. The free
energy is computed here on its own, by a plain loop over layers and automatic differentiation.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import shootax as sx
from cases import usually

GAMMA, SAMPLES = 5.0, 4
FIELDS = {
    "updown": sx.UpDown(dim=2, inflation=3, activation="tanh"),
    "affine": sx.Affine(dim=3, activation="tanh"),
}


def data(field):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SAMPLES, field.dim))
    return jnp.array(x), jnp.array(0.5 * np.roll(x, 1, axis=1) + 0.3)


def misfit(outputs, targets):
    return GAMMA * jnp.sum((outputs - targets) ** 2)


def trained(field, integrator):
    """A net with a particle on each sample and momenta at a minimum of the energy."""
    x, y = data(field)
    seed_net = sx.Net(field, particles=1, integrator=integrator, key=jax.random.key(0))
    states = seed_net.lifted(x)
    ensemble = sx.Ensemble.on(states, momentum=0.1, key=jax.random.key(1))
    net = eqx.tree_at(
        lambda n: n.control, seed_net, sx.Particles(field, ensemble, T=1.2, form="dense")
    )
    place = lambda n: n.control.ensemble.p  # noqa: E731
    shape = place(net).shape

    @jax.jit
    def energy(p):
        new = eqx.tree_at(place, net, p.reshape(shape))
        return sx.penalty(new) + misfit(new(x), y)

    slope = jax.jit(jax.value_and_grad(energy))
    found = scipy.optimize.minimize(
        lambda p: tuple(np.asarray(v, float) for v in slope(p)),
        np.asarray(place(net)).ravel(),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-10, "maxiter": 3000},
    )
    # Near the minimum differences of the energy are rounding, those of its gradient are not.
    found = scipy.optimize.root(lambda p: np.asarray(slope(p)[1], float), found.x, tol=1e-12)
    assert np.abs(found.fun).max() < 1e-8, found.message
    return eqx.tree_at(place, net, jnp.array(found.x).reshape(shape)), float(slope(found.x)[0])


def free_energy(field, penalty, states, targets, horizon, thetas, midpoint):
    """The energy of a network of layers with free weights: a plain loop, nothing else shared."""
    layers = jax.tree.leaves(thetas)[0].shape[0]
    h = horizon / layers
    step = jax.vmap(field, in_axes=(0, None))

    def layer(z, theta):
        at = z + 0.5 * h * step(z, theta) if midpoint else z
        return z + h * step(at, theta), h * penalty(theta)

    end, costs = jax.lax.scan(layer, states, thetas)
    return jnp.sum(costs) + misfit(end[:, : field.dim], targets)


def relative_gradient(field, net, thetas, midpoint):
    """The gradient by every layer's weights, against that of the penalty alone."""
    x, y = data(field)
    control = net.control

    def energy(thetas):
        args = (field, control.penalty, net.lifted(x), y, control.T, thetas, midpoint)
        return free_energy(*args)

    layers = jax.tree.leaves(thetas)[0].shape[0]
    gradient = jax.grad(energy)(thetas)
    scale = jax.grad(lambda th: control.T / layers * jnp.sum(jax.vmap(control.penalty)(th)))(thetas)
    flat = [np.concatenate([np.ravel(v) for v in jax.tree.leaves(t)]) for t in (gradient, scale)]
    return np.abs(flat[0]).max(), np.linalg.norm(flat[0]) / np.linalg.norm(flat[1]), energy


@pytest.mark.parametrize("name", usually(FIELDS, "affine"))
def test_free_weights_have_no_gradient_at_trained_shooting(name):
    field = FIELDS[name]
    net, energy = trained(field, sx.RK4(40))
    layers = 800
    middles = (np.arange(layers) + 0.5) / layers * net.control.T
    thetas = sx.theta_path(net, middles)
    _, relative, free = relative_gradient(field, net, thetas, midpoint=True)
    assert relative < 1e-3
    np.testing.assert_allclose(free(thetas), energy, rtol=1e-4)
    # The test can fail: weights a little off have a gradient.
    off = jax.tree.map(lambda leaf: 1.05 * leaf, thetas)
    assert relative_gradient(field, net, off, midpoint=True)[1] > 0.02


@pytest.mark.parametrize("name", usually(FIELDS, "affine"))
def test_final_momenta_are_minus_the_gradient_of_the_loss(name):
    """$p(T) = -γ∇ℓ$: there are more features than particles, so momenta are unique."""
    field = FIELDS[name]
    net, _ = trained(field, sx.RK4(40))
    _, y = data(field)
    ensemble, control = net.control.ensemble, net.control
    system = control.system(field, 0)
    start = system.join(system.start(), jnp.zeros((0, field.state.shape[0])))
    end = net.integrator.solve(system, start, control.T, view=lambda s: system.split(s)[0])
    want = -jax.grad(lambda z: misfit(z[:, : field.dim], y))(end.q)
    np.testing.assert_allclose(end.p, want, atol=1e-4 * np.abs(want).max())
    assert np.abs(ensemble.p - end.p).max() > 0.01  # momenta did move


@pytest.mark.slow
def test_descent_on_free_weights_gains_nothing():
    field = FIELDS["updown"]
    net, _ = trained(field, sx.RK4(40))
    layers = 60
    middles = (np.arange(layers) + 0.5) / layers * net.control.T
    thetas = sx.theta_path(net, middles)
    _, _, free = relative_gradient(field, net, thetas, midpoint=True)
    flat, rebuild = jax.flatten_util.ravel_pytree(thetas)
    value = jax.jit(jax.value_and_grad(lambda v: free(rebuild(v))))
    found = scipy.optimize.minimize(
        lambda v: tuple(np.asarray(part, float) for part in value(v)),
        np.asarray(flat),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 300},
    )
    start = float(free(thetas))
    assert found.fun <= start * (1 + 1e-12)
    assert found.fun > 0.99 * start


@pytest.mark.parametrize("name", usually(FIELDS, "affine"))
def test_symplectic_euler_is_exactly_critical_for_its_residual_network(name):
    field = FIELDS[name]
    net, _ = trained(field, sx.SymplecticEuler(40))
    thetas = jax.tree.map(lambda leaf: leaf[:, 0], sx.bake(net).control.theta)
    largest, relative, _ = relative_gradient(field, net, thetas, midpoint=False)
    assert largest < 1e-6
    assert relative < 1e-5
    other, _ = trained(field, sx.Euler(40))
    thetas = jax.tree.map(lambda leaf: leaf[:, 0], sx.bake(other).control.theta)
    assert relative_gradient(field, other, thetas, midpoint=False)[1] > 1e-4
