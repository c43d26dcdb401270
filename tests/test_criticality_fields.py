"""Trained shooting is a critical point of the free energy, for the less ordinary fields, too.

One particle sits on each of a few samples, momenta are trained to convergence in discrete time, and
the energy $Σ_k h R(θ_k) + γ ℓ$ of a residual network with *free* layers, written out here on its own,
must have no gradient there.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import shootax as sx
from cases import usually
from shootax._integrators import Step
from shootax._penalties import penalty_at

LAYERS, H, GAMMA, SAMPLES = 6, 0.1, 2.0, 3
CASES = {
    "single-hidden-layer": (sx.SingleHiddenLayer(dim=2, width=2), sx.Quadratic(default=0.3), 0.6),
    "convolution": (sx.ConvAffine(2, size=(3,), activation="tanh"), sx.Quadratic(), 0.1),
    "transport": (sx.Affine(dim=2, activation="tanh"), sx.Transport(ridge=0.05), 0.1),
    "rkhs": (sx.RKHS(dim=2), None, 0.1),
}


def samples(field):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(SAMPLES, *field.state.shape))
    return jnp.array(x), jnp.array(0.6 * np.roll(x, 1, axis=1) + 0.4)


def misfit(ends, targets):
    return GAMMA * jnp.sum((ends - targets) ** 2)


def shoot(field, penalty, x, p):
    """The energy of shooting in discrete time, and the weights of its layers."""
    control = sx.Particles(field, sx.Ensemble(x, p), penalty=penalty, form="automatic")
    system, integrator = control.system(field, 0), sx.SymplecticEuler(LAYERS)

    def layer(y, k):
        new, [(moment, at)] = integrator.stages(system, Step(k, 0.0, H), y)
        theta = system.theta(moment, at)
        return new, (theta, penalty_at(control.penalty, field, system.split(at)[0].q, theta))

    y = system.join(system.start(), jnp.zeros((0, *field.state.shape)))
    y, (thetas, rates) = jax.lax.scan(layer, y, jnp.arange(LAYERS))
    return H * jnp.sum(rates), system.split(y)[0].q, thetas


def free(field, penalty, x, thetas):
    """Cost and end of a residual network whose layers are free."""
    z, cost = x, jnp.zeros(())
    for k in range(LAYERS):
        theta = jax.tree.map(lambda leaf, k=k: leaf[k], thetas)
        if isinstance(field, sx.RKHS):
            theta = {"q": z, "p": theta["p"]}
        cost = cost + H * penalty_at(penalty, field, z, theta)
        z = z + H * jax.vmap(field, in_axes=(0, None))(z, theta)
    return cost, z


def nearby(field, penalty, x, p):
    """Targets for which a minimum is close to `p`, as θ* has many branches: $p(T) = -γ∇ℓ$ there."""
    control = sx.Particles(field, sx.Ensemble(x, p), penalty=penalty)
    system, integrator = control.system(field, 0), sx.SymplecticEuler(LAYERS)
    start = system.join(system.start(), jnp.zeros((0, *field.state.shape)))
    end = jax.jit(
        lambda y: integrator.solve(system, y, LAYERS * H, view=lambda y: system.split(y)[0])
    )(start)
    noise = jax.random.normal(jax.random.key(2), p.shape)
    return end.q + end.p / (2 * GAMMA), p + 0.02 * noise


@pytest.mark.parametrize("name", usually(CASES, "rkhs"))
def test_no_gradient_by_free_layers(name):
    field, penalty, momentum = CASES[name]
    x, y = samples(field)
    start = momentum * jax.random.normal(jax.random.key(1), x.shape)
    if name == "single-hidden-layer":
        y, start = nearby(field, penalty, x, start)

    @jax.jit
    @jax.value_and_grad
    def energy(p):
        cost, ends, _ = shoot(field, penalty, x, p.reshape(x.shape))
        return cost + misfit(ends, y)

    def safe(p):
        """A step of the search that is too long for the implicit integrator is no step."""
        value, slope = (np.asarray(v, float) for v in energy(jnp.asarray(p)))
        return (float(value), slope) if np.isfinite(value) else (1e6, np.zeros_like(slope))

    found = scipy.optimize.minimize(
        safe,
        np.asarray(start).ravel(),
        jac=True,
        method="BFGS",
        options={"gtol": 1e-8, "maxiter": 1000},
    )
    assert np.abs(found.jac).max() < 1e-4, found.message
    assert float(found.fun) < float(misfit(x, y))
    actual = sx.RKHSNorm(field.kernel) if penalty is None else penalty
    thetas = jax.jit(lambda p: shoot(field, penalty, x, p)[2])(jnp.array(found.x).reshape(x.shape))
    whole = jax.grad(lambda th: _total(free(field, actual, x, th), y))(thetas)
    alone = jax.grad(lambda th: free(field, actual, x, th)[0])(thetas)
    norms = [
        np.sqrt(sum(float(jnp.sum(leaf**2)) for leaf in jax.tree.leaves(tree)))
        for tree in (whole, alone)
    ]
    assert norms[1] > 1e-2  # the weights are not all zero
    assert norms[0] < 1e-3 * norms[1]


def _total(run, targets):
    cost, ends = run
    return cost + misfit(ends, targets)
