"""Every field linear in θ: the automatic equations are the closed ones."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import usually
from shootax._systems import TimePoint

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


@pytest.mark.parametrize("form", ["dense", pytest.param("kernel", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", FIELDS)
def test_automatic_is_closed_form(name, form):
    """In state, momentum, θ and training gradient, after one step."""
    field = FIELDS[name]
    ensemble, z = problem(field)

    @eqx.filter_jit
    def everything(form):
        def run(ensemble, z):
            system = sx.Particles(field, ensemble, form=form).system(field, 5)
            here = TimePoint(0.0, 0.0, 0, 0)
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
    net = sx.Net(field, control, integrator=sx.RK4(20), key=jax.random.key(0))
    thetas = sx.theta_path(net, jnp.linspace(0, 1, 21))
    rates = jax.vmap(control.penalty)(thetas)
    trapezium = (jnp.sum(rates) - 0.5 * (rates[0] + rates[-1])) / 20
    assert jnp.allclose(cost, trapezium, rtol=1e-3)
    assert not jnp.allclose(cost, rates[0], rtol=1e-2)


def test_eight_maps_by_hand():
    """Each of the four features acts on both parts, by a matrix of its own."""
    field, rng = FIELDS["general"], np.random.default_rng(0)
    theta = {name: rng.normal(size=leaf.shape) for name, leaf in field.theta.items()}
    x, v = rng.normal(size=2), rng.normal(size=4)
    features = {"x": x, "s": np.tanh(x), "v": v, "u": np.tanh(v)}
    want = [
        sum(theta[f"theta_{part}{name}"] @ feature for name, feature in features.items())
        + theta[f"b_{part}"]
        for part in "xv"
    ]
    got = field(jnp.asarray(np.r_[x, v]), jax.tree.map(jnp.asarray, theta))
    np.testing.assert_allclose(got, np.concatenate(want), rtol=1e-12)
    assert set(theta) == {f"theta_{a}{f}" for a in "xv" for f in "xsvu"} | {"b_x", "b_v"}


@pytest.mark.parametrize("form", ["dense", "kernel", "linear", "automatic"])
def test_damping_is_of_the_hidden_state_alone(form):
    """Without momenta there are no weights: $x$ stays, and $v$ decays by $e^{-cT}$."""
    field = FIELDS["damped"]
    ensemble, z = problem(field)
    still = sx.Ensemble(ensemble.q, jnp.zeros_like(ensemble.p))
    control = sx.Particles(field, still, form=form, T=2.0)
    end = sx.flow(field, control, z, integrator=sx.RK4(20))
    np.testing.assert_allclose(end[:, :2], z[:, :2], rtol=1e-12)
    np.testing.assert_allclose(end[:, 2:], np.exp(-0.7 * 2) * z[:, 2:], rtol=1e-5)
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), field.theta)
    np.testing.assert_allclose(field(z[0], zero), jnp.concatenate([0 * z[0, :2], -0.7 * z[0, 2:]]))


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


@pytest.mark.parametrize("links", [[(0, -1)], [(-1, 0)], [(0, 2)], [(2, 0)]])
def test_links_are_between_groups_that_there_are(links):
    with pytest.raises(ValueError, match=r"from 0 to 1; got|at least 0, got -1"):
        sx.BlockSparse((1, 2), links)
    assert sx.BlockSparse((1, 2)).links == ((0, 0), (1, 1))


KEY = jax.random.key(9)
