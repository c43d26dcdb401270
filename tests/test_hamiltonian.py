"""Conservation along depth, and flows back and forth."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx


def make(integrator, *, T=1.0, momentum=0.4, seed=0):
    field = sx.UpDown(dim=2, inflation=3, activation="tanh")
    control = sx.Particles.draw(field, 4, momentum=momentum, T=T, key=jax.random.key(seed))
    return sx.Net(field, control, integrator=integrator, key=jax.random.key(seed + 1))


def test_rk4_conserves_the_hamiltonian_to_a_millionth_and_to_fourth_order():
    assert sx.hamiltonian_drift(make(sx.RK4(100))) < 1e-6
    drifts = [float(sx.hamiltonian_drift(make(sx.RK4(steps)))) for steps in (10, 20, 40)]
    orders = np.log2(np.array(drifts[:-1]) / np.array(drifts[1:]))
    assert np.all(orders > 3.7), (drifts, orders)


def test_symplectic_methods_keep_the_hamiltonian_bounded_where_euler_does_not():
    """10,000 steps over a long time. The drift of Euler grows without bound."""
    horizon, steps = 200.0, 10_000
    drift = {
        type(integrator).__name__: float(
            sx.hamiltonian_drift(make(integrator, T=horizon, momentum=0.2))
        )
        for integrator in (
            sx.Euler(steps),
            sx.ImplicitMidpoint(steps),
            sx.SymplecticEuler(steps),
        )
    }
    assert drift["ImplicitMidpoint"] < 0.01, drift
    assert drift["SymplecticEuler"] < 0.1, drift
    assert not drift["Euler"] < 0.5, drift


@pytest.mark.parametrize(
    ("integrator", "tolerance"),
    [
        (sx.Euler, 0.9),
        (sx.Heun, 1.8),
        (sx.RK4, 3.7),
        (sx.SymplecticEuler, None),
        (sx.ImplicitMidpoint, None),
    ],
)
def test_forward_then_backward_returns_the_start_to_integrator_order(integrator, tolerance):
    x = jax.random.normal(jax.random.key(3), (5, 2))

    def gap(steps):
        net = make(integrator(steps))
        start = net.lifted(x)
        end = sx.flow(net.field, net.control, start, integrator=net.integrator)
        back = sx.flow(net.field, net.control, end, integrator=net.integrator, reverse=True)
        return float(jnp.max(jnp.abs(back - start)))

    if tolerance is None:  # the way back is the inverse of the way there
        assert gap(20) < 1e-12
        return
    gaps = [gap(20), gap(40)]
    assert np.log2(gaps[0] / gaps[1]) > tolerance, gaps


def test_particles_do_not_feel_the_data():
    net = make(sx.RK4(10))
    x = jax.random.normal(jax.random.key(4), (6, 2))
    together = net(x)
    alone = jnp.concatenate([net(x[i : i + 1]) for i in range(6)])
    np.testing.assert_allclose(together, alone, rtol=1e-12)


def test_float32_is_the_default_precision_of_a_flow_in_single():
    net = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if eqx.is_inexact_array(leaf) else leaf,
        make(sx.RK4(10)),
    )
    assert net(jnp.ones((3, 2), jnp.float32)).dtype == jnp.float32
