"""Every field linear in θ: the automatic equations are the closed ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import shootax as sx
from cases import usually
from shootax.systems import Moment

FIELDS = {
    "affine": sx.Affine(dim=3, activation="tanh"),
    "updown": sx.UpDown(dim=2, inflation=3, activation="tanh"),
    "general": sx.GeneralUpDown(dim=2, inflation=2, activation="tanh"),
    "damped": sx.DampedUpDown(dim=2, inflation=2, damping=0.7, activation="tanh"),
    "periodic": sx.Periodic(dim=3),
    "sparse": sx.BlockSparse(
        (2, 1, 2), [(0, 0), (0, 1), (1, 2), (2, 2), (2, 0)], activation="tanh"
    ),
}


def problem(field, momentum=0.5):
    ensemble = sx.Ensemble.draw(field, 4, momentum=momentum, key=jax.random.key(0))
    z = jax.random.normal(jax.random.key(1), (5, *field.state.shape))
    return ensemble, z


@pytest.mark.parametrize("form", ["dense", "kernel"])
@pytest.mark.parametrize("name", FIELDS)
def test_automatic_is_closed_form(name, form):
    """In state, momentum, θ and training gradient, after one step."""
    field = FIELDS[name]
    ensemble, z = problem(field)

    @eqx.filter_jit
    def everything(form):
        def run(ensemble, z):
            system = sx.Particles(field, ensemble, form=form).system(field, 5)
            here = Moment(0.0, 0.0, 0, 0)
            start = system.join(system.start(), z)
            step = jax.tree.map(lambda a, b: a + 0.1 * b, start, system(here, start))
            particles, rows = system.split(step)
            theta = system.theta(here, step)
            size = sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(theta))
            return jnp.sum(rows**2) + jnp.sum(particles.p**3) + size, (particles, rows, theta)

        return jax.value_and_grad(run, argnums=(0, 1), has_aux=True)(ensemble, z)

    got, want = everything("automatic"), everything(form)
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(want), strict=True):
        assert jnp.allclose(a, b, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", usually(FIELDS, "general", "damped"))
def test_hamiltonian_is_conserved_to_fourth_order(name):
    field = FIELDS[name]
    ensemble, _ = problem(field, momentum=0.2)

    def drift(steps):
        net = sx.Net(field, sx.Particles(field, ensemble), integrator=sx.RK4(steps), key=KEY)
        return float(sx.hamiltonian_drift(net))

    assert drift(8) < 1e-2
    assert drift(16) < drift(8) / 10


def test_damping_makes_the_field_affine_and_the_cost_an_integral():
    field = FIELDS["damped"]
    assert sx.linearity(field) == "affine"
    ensemble, _ = problem(field)
    control = sx.Particles(field, ensemble)
    cost = control.cost(field, sx.RK4(20))
    thetas = sx.theta_path(field, control, jnp.linspace(0, 1, 21), integrator=sx.RK4(20))
    rates = jax.vmap(control.penalty)(thetas)
    trapezium = (jnp.sum(rates) - 0.5 * (rates[0] + rates[-1])) / 20
    assert jnp.allclose(cost, trapezium, rtol=1e-3)
    assert not jnp.allclose(cost, rates[0], rtol=1e-2)


def test_eight_maps():
    shapes = FIELDS["general"].theta
    assert sum(len(leaf.shape) == 2 for leaf in shapes.values()) == 8


def test_periodic_field_has_the_period():
    field = FIELDS["periodic"]
    theta = jax.tree.map(lambda leaf: jnp.ones(leaf.shape), field.theta)
    z = jnp.array([0.3, -1.0, 2.0])
    assert jnp.allclose(field(z, theta), field(z + 2 * jnp.pi, theta))


def test_sparse_groups_act_only_along_links():
    field = FIELDS["sparse"]
    theta = jax.tree.map(lambda leaf: jnp.ones(leaf.shape), field.theta)
    jacobian = jax.jacobian(field)(0.1 * jnp.arange(5.0), theta)
    assert jnp.all(jacobian[2:3, :3] == 0)
    assert jnp.all(jacobian[2:3, 3:] != 0)


KEY = jax.random.key(9)
