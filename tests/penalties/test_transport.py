"""The transport penalty, which depends on the particles."""

import jax
import jax.numpy as jnp
import pytest

import shootax as sx
from cases import usually
from shootax._hamiltonian import hamilton_equations, hamiltonian

BLOCKS = {
    "affine": sx.Affine(dim=2, activation="tanh"),
    "updown": sx.UpDown(dim=2, inflation=3, activation="tanh"),
    "sparse": sx.BlockSparse((1, 2), [(0, 1), (1, 1)], activation="tanh"),
}


@pytest.mark.parametrize("particles", [3, 12])
@pytest.mark.parametrize("name", usually(BLOCKS, "affine"))
def test_structured_solve_is_the_dense_one(name, particles):
    """With more features than particles, and with fewer."""
    field, penalty = BLOCKS[name], sx.Transport(ridge=0.01)
    drawn = sx.Ensemble.draw(field, particles, momentum=1.0, key=jax.random.key(0))
    dense = sx.maximisers.LinearSolve(structured=False)
    want = sx.maximisers.maximise(field, penalty, drawn.q, drawn.p, maximiser=dense).theta
    got = sx.maximisers.maximise(field, penalty, drawn.q, drawn.p).theta
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert jnp.allclose(a, b, rtol=1e-8, atol=1e-8)
    slope = jax.grad(hamiltonian, argnums=4)(field, penalty, drawn.q, drawn.p, got)
    assert all(jnp.allclose(leaf, 0, atol=1e-9) for leaf in jax.tree.leaves(slope))


def test_momenta_feel_the_penalty():
    """dp/dt = -∂q⟨p, f⟩ + ∂qR, which is the derivative of the reduced Hamiltonian."""
    field, penalty = BLOCKS["affine"], sx.Transport(ridge=0.05)
    drawn = sx.Ensemble.draw(field, 4, momentum=1.0, key=jax.random.key(1))

    def reduced(q, p):
        theta = sx.maximisers.LinearSolve()(field, penalty, q, p, None).theta
        return hamiltonian(field, penalty, q, p, theta)

    slope_q, slope_p = jax.grad(reduced, argnums=(0, 1))(drawn.q, drawn.p)
    theta = sx.maximisers.maximise(field, penalty, drawn.q, drawn.p).theta
    dq, dp = hamilton_equations(field, penalty, drawn.q, drawn.p, theta)
    assert jnp.allclose(dq, slope_p, atol=1e-10)
    assert jnp.allclose(dp, -slope_q, atol=1e-10)
    without = -jax.grad(lambda q: hamiltonian(field, sx.Quadratic(), q, drawn.p, theta))(drawn.q)
    assert not jnp.allclose(dp, without, atol=1e-3)


@pytest.mark.parametrize(
    "field",
    [
        pytest.param(BLOCKS["affine"], id="linear"),
        pytest.param(sx.SingleHiddenLayer(dim=2, width=2), id="nonlinear", marks=pytest.mark.slow),
    ],
)
def test_reduced_hamiltonian_is_conserved(field):
    control = sx.Particles.draw(
        field, 5, momentum=0.3, penalty=sx.Transport(ridge=0.1), key=jax.random.key(0)
    )

    def drift(steps):
        net = sx.Net(field, control, integrator=sx.Heun(steps), key=jax.random.key(1))
        return float(sx.hamiltonian_drift(net))

    assert drift(20) < 2e-2
    assert drift(40) < drift(20) / 3


def test_cost_of_a_linear_field_is_conserved():
    field = BLOCKS["affine"]
    control = sx.Particles.draw(
        field, 5, momentum=0.3, penalty=sx.Transport(ridge=0.1), key=jax.random.key(0)
    )
    path = sx.flow(field, control, control.ensemble.q, times=jnp.linspace(0, 1, 41),
                   integrator=sx.RK4(40))  # fmt: skip
    net = sx.Net(field, control, integrator=sx.RK4(40), key=jax.random.key(0))
    thetas = sx.theta_path(net, jnp.linspace(0, 1, 41))
    rates = jax.vmap(lambda th, q: control.penalty(th, field, q))(thetas, jnp.swapaxes(path, 0, 1))
    assert jnp.allclose(rates, control.cost(field, sx.RK4()), rtol=1e-4)


def test_no_transport_without_particles():
    with pytest.raises(ValueError, match="depends on particles"):
        sx.Static(BLOCKS["affine"], penalty=sx.Transport(), key=jax.random.key(0))
