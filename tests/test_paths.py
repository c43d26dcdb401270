"""θ, particles and the Hamiltonian along depth, each asked of a net."""

import jax
import jax.numpy as jnp
import numpy as np

import shootax as sx
from cases import KEY, assert_close

FIELD = sx.Affine(2, activation="tanh")
NET = sx.Net(FIELD, particles=3, integrator=sx.RK4(4), key=KEY)
TIMES = [0.0, 0.25, 0.4, 1.0]


def test_particles_start_where_they_are_and_move_as_data_do():
    q, p = sx.particle_path(NET, TIMES)
    assert q.shape == p.shape == (4, 3, 2)
    assert_close((q[0], p[0]), (NET.control.ensemble.q, NET.control.ensemble.p))
    data = sx.flow(FIELD, NET.control, NET.control.ensemble.q, times=TIMES, integrator=sx.RK4(4))
    assert_close(q, jnp.swapaxes(data, 0, 1))


def test_theta_and_the_hamiltonian_are_those_of_the_particles():
    q, p = sx.particle_path(NET, TIMES)
    penalty = NET.control.penalty
    stars = jax.vmap(lambda q, p: sx.maximisers.ClosedForm()(FIELD, penalty, q, p, None).theta)(
        q, p
    )
    assert_close(sx.theta_path(NET, TIMES), stars)
    times, values = sx.hamiltonian_path(NET, TIMES)
    np.testing.assert_array_equal(times, TIMES)
    assert_close(values, jax.vmap(penalty)(stars), rtol=1e-10)  # where H is quadratic, H* = R(θ*)


def test_the_grid_is_the_default():
    times, values = sx.hamiltonian_path(NET)
    np.testing.assert_allclose(times, np.linspace(0, 1, 5))
    assert_close(values, sx.hamiltonian_path(NET, times)[1])
