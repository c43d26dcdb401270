"""The inner maximisation: agreement, envelope, gradients, and what is said when it fails."""

import types

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import usually
from shootax._hamiltonian import hamilton_equations, hamiltonian
from shootax._maximisers.base import default_tolerance, reachable

FIELD = sx.SingleHiddenLayer(dim=2, width=2)
SOLVERS = {
    "neurons": sx.maximisers.PerNeuron(),
    "newton": sx.maximisers.Newton(),
    "quasi-newton": sx.maximisers.QuasiNewton(),
    "unrolled": sx.maximisers.Unrolled(steps=400, rate=0.1, warmup=3000),
}


def ensemble(momentum=0.6):
    return sx.Ensemble.draw(FIELD, 4, momentum=momentum, key=jax.random.key(3))


def reduced(maximiser, q, p):
    guess = jax.lax.stop_gradient(
        sx.maximisers.maximise(FIELD, sx.Quadratic(), q, p, throw=False).theta
    )
    return hamiltonian(
        FIELD, sx.Quadratic(), q, p, maximiser(FIELD, sx.Quadratic(), q, p, guess).theta
    )


@pytest.mark.parametrize("name", SOLVERS)
def test_a_maximum_is_found_and_said_to_be_one(name):
    q, p = ensemble().q, ensemble().p
    found = sx.maximisers.maximise(FIELD, sx.Quadratic(), q, p, maximiser=SOLVERS[name])
    assert bool(found.converged)
    assert not bool(found.unbounded)
    slope = jax.grad(hamiltonian, argnums=4)(FIELD, sx.Quadratic(), q, p, found.theta)
    assert max(float(jnp.max(jnp.abs(leaf))) for leaf in jax.tree.leaves(slope)) < 1e-6
    assert float(jnp.max(jnp.abs(found.theta["theta2"]))) > 0.1  # not the trivial saddle at zero


@pytest.mark.parametrize(
    "name", usually(["neurons", "quasi-newton", "unrolled"], "quasi-newton", "unrolled")
)
def test_solvers_agree_in_value_and_training_gradient(name):
    q, p = ensemble().q, ensemble().p
    guess = sx.maximisers.maximise(FIELD, sx.Quadratic(), q, p).theta

    def loss(maximiser, q, p):
        theta = maximiser(FIELD, sx.Quadratic(), q, p, guess).theta
        dq, dp = hamilton_equations(FIELD, sx.Quadratic(), q, p, theta)
        return jnp.sum(dq**2) + jnp.sum(dp**3)

    gradient = jax.jit(jax.value_and_grad(loss, argnums=(1, 2)), static_argnums=0)
    got, want = gradient(SOLVERS[name], q, p), gradient(SOLVERS["newton"], q, p)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert jnp.allclose(a, b, rtol=1e-5, atol=1e-6)


def test_implicit_gradient_is_that_of_finite_differences():
    q, p = ensemble().q, ensemble().p
    guess = sx.maximisers.maximise(FIELD, sx.Quadratic(), q, p).theta
    direction = jax.random.normal(jax.random.key(5), p.shape)

    def size(s):
        theta = sx.maximisers.Newton()(FIELD, sx.Quadratic(), q, p + s * direction, guess).theta
        return jnp.sum(theta["theta1"] ** 2)

    h = 1e-4
    assert jnp.allclose(jax.grad(size)(0.0), (size(h) - size(-h)) / (2 * h), rtol=1e-5)


@pytest.mark.parametrize("name", usually(["neurons", "newton", "unrolled"], "newton"))
def test_envelope(name):
    """The derivative of the solved reduced Hamiltonian is the partial one at θ*."""
    q, p = ensemble().q, ensemble().p
    total = jax.grad(reduced, argnums=(1, 2))(SOLVERS[name], q, p)
    theta = sx.maximisers.maximise(FIELD, sx.Quadratic(), q, p).theta
    dq, dp = hamilton_equations(FIELD, sx.Quadratic(), q, p, theta)
    assert jnp.allclose(total[0], -dp, atol=1e-8)
    assert jnp.allclose(total[1], dq, atol=1e-8)


@pytest.mark.slow
def test_hamiltonian_is_conserved_along_the_flow():
    control = sx.Particles(FIELD, ensemble())

    def drift(steps):
        net = sx.Net(FIELD, control, integrator=sx.Heun(steps), key=jax.random.key(0))
        return float(sx.hamiltonian_drift(net))

    assert drift(20) < 5e-3
    assert drift(40) < drift(20) / 3


@pytest.mark.slow
def test_cost_follows_the_path():
    control = sx.Particles(FIELD, ensemble())
    coarse, fine = (control.cost(FIELD, sx.Heun(steps)) for steps in (10, 20))
    assert jnp.allclose(coarse, fine, rtol=1e-2)
    start = control.penalty_at_start(FIELD)
    assert abs(float(fine - start)) > 10 * abs(float(coarse - fine))


def test_relu_with_quadratic_penalty_is_unbounded():
    field = sx.SingleHiddenLayer(dim=2, width=3, activation="relu")
    drawn = sx.Ensemble.draw(field, 4, momentum=5.0, key=jax.random.key(0))
    found = sx.maximisers.maximise(field, sx.Quadratic(), drawn.q, drawn.p, throw=False)
    assert bool(found.unbounded)
    with pytest.raises(sx.UnboundedError, match="bounded activation"):
        sx.maximisers.maximise(field, sx.Quadratic(), drawn.q, drawn.p)


def test_too_few_iterations_are_reported():
    q, p = ensemble().q, ensemble().p
    with pytest.raises(sx.NotConvergedError, match="more iterations"):
        sx.maximisers.maximise(
            FIELD, sx.Quadratic(), q, p, maximiser=sx.maximisers.Unrolled(1, rate=0.01, warmup=2)
        )


@pytest.mark.parametrize(
    "maximiser",
    [sx.maximisers.Newton(max_iterations=1), sx.maximisers.QuasiNewton(max_iterations=1)],
)
def test_half_a_solution_is_not_returned(maximiser):
    """After one iteration from far away there are finite weights, but they are no maximum."""
    q, p = ensemble().q, ensemble().p
    guess = jax.tree.map(lambda leaf: 3 * jnp.ones(leaf.shape), FIELD.theta)
    found = maximiser(FIELD, sx.Quadratic(), q, p, guess)
    assert not bool(found.converged)
    assert float(found.residual) > 1e-3
    assert all(bool(jnp.isnan(leaf).all()) for leaf in jax.tree.leaves(found.theta))


def test_unsolved_weights_are_nan_and_a_flow_names_the_reason():
    field = sx.SingleHiddenLayer(dim=2, width=3, activation="relu")
    control = sx.Particles.draw(field, 4, momentum=5.0, key=jax.random.key(0))
    z = jnp.ones((1, 2))
    with pytest.raises(sx.UnboundedError):
        sx.flow(field, control, z, integrator=sx.Euler(2))
    inside = eqx.filter_jit(lambda c: sx.flow(field, c, z, integrator=sx.Euler(2)))(control)
    assert bool(jnp.all(jnp.isnan(inside)))


@pytest.mark.slow
def test_reverse_returns_to_the_start():
    control = sx.Particles(FIELD, ensemble())
    z = jax.random.normal(jax.random.key(1), (3, 2))
    there = sx.flow(FIELD, control, z, integrator=sx.Heun(20))
    back = sx.flow(FIELD, control, there, integrator=sx.Heun(20), reverse=True)
    assert jnp.allclose(back, z, atol=1e-2)
    assert not jnp.allclose(there, z, atol=1e-1)


def test_maximisers_refuse_what_they_cannot_solve():
    with pytest.raises(ValueError, match="not linear in θ"):
        sx.Particles(FIELD, ensemble(), maximiser=sx.maximisers.ClosedForm())
    with pytest.raises(ValueError, match="VertexSearch is for"):
        sx.Particles(FIELD, ensemble(), maximiser=sx.maximisers.VertexSearch())
    linear = sx.Affine(dim=2)
    drawn = sx.Ensemble.draw(linear, 3, key=jax.random.key(0))
    with pytest.raises(ValueError, match="quadratic penalty"):
        sx.Particles(linear, drawn, penalty=sx.Transport(), maximiser=sx.maximisers.ClosedForm())


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_tolerances_are_those_asked_for_or_what_the_precision_allows(dtype):
    q, eps = jnp.ones(2, dtype), float(jnp.finfo(dtype).eps)
    assert default_tolerance(0.3, q) == 0.3
    assert default_tolerance(None, q) == pytest.approx(10 * eps**0.7)
    assert reachable(0.3, q) == 0.3
    assert reachable(1e-30, q) == pytest.approx(10 * np.sqrt(eps))


def test_the_first_search_has_ten_times_the_iterations(monkeypatch):
    """A stand-in for the solver counts: a start at random is farther away than the last θ*."""
    limits = []

    def minimise(self, field, penalty, q, p, guess, limit):
        limits.append(limit)
        return types.SimpleNamespace(value=guess)

    solver = sx.maximisers.QuasiNewton(max_iterations=7)
    monkeypatch.setattr(sx.maximisers.QuasiNewton, "_minimise", minimise)
    field, q = sx.SingleHiddenLayer(dim=2, width=1), jnp.ones((3, 2))
    solver.search(field, sx.Quadratic(), q, q)
    assert limits == [70]
