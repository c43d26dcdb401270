"""A baked net is a plain residual network with the same output."""

import itertools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import (
    CONTROLS,
    FIELDS,
    FIXED_INTEGRATORS,
    KEY,
    arrays,
    assert_close,
    cast,
    inputs,
    make_net,
    usually,
)


def every_combination():
    """All of them; `make test` leaves out those that share every line of code with others."""
    for field, control, integrator in itertools.product(FIELDS, CONTROLS, FIXED_INTEGRATORS):
        short = (
            (control == "particles" and (field == "updown" or integrator == "heun"))
            or (control != "particles" and field == "rotor" and integrator == "heun")
            or (integrator == "euler" and field == "pendulum")
        )
        marks = () if short else pytest.mark.slow
        yield pytest.param(field, control, integrator, marks=marks)


@pytest.mark.parametrize(("field", "control", "integrator"), list(every_combination()))
def test_baked_equals_live(field, control, integrator):
    made = FIXED_INTEGRATORS[integrator](steps=4)
    net = make_net(field, control, integrator=made, T=0.8)
    baked = sx.bake(net)
    x = inputs(net.field)
    assert isinstance(baked.control, sx.extend.Stagewise)
    assert_close(baked(x), net(x), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("form", ["dense", "kernel", "automatic"])
def test_baked_equals_live_in_every_form(form):
    field = sx.UpDown(2, 3, activation="tanh")
    control = sx.Particles.draw(field, 3, form=form, key=KEY)
    net = sx.Net(field, control, key=KEY)
    x = inputs(field)
    assert_close(sx.bake(net)(x), net(x), rtol=1e-12)


def test_baked_is_a_residual_network():
    """By hand, with the weights of the baked net alone: x ← x + h (A σ(x) + b)."""
    net = make_net("affine", "particles", integrator=sx.Euler(steps=4), T=2.0)
    theta = {name: np.asarray(value) for name, value in sx.bake(net).control.theta.items()}
    x = np.asarray(inputs(net.field))
    for a, b in zip(theta["A"][:, 0], theta["b"][:, 0], strict=True):
        x = x + 0.5 * (np.tanh(x) @ a.T + b)
    np.testing.assert_allclose(x, net(inputs(net.field)), rtol=1e-12)


def test_baked_has_no_particles_and_the_right_size():
    net = make_net("updown", "particles", integrator=sx.RK4(steps=5))
    baked = sx.bake(net)
    one_theta = sum(leaf.size for leaf in net.field.theta.values())
    assert sx.count(baked.control) == 5 * 4 * one_theta


def test_baked_grid_times_equal_live():
    net = make_net("updown", "particles", integrator=sx.RK4(steps=5))
    x, times = inputs(net.field), np.linspace(0, 1, 6)
    assert_close(sx.bake(net)(x, times), net(x, times), rtol=1e-12)


@pytest.mark.parametrize("control", usually(CONTROLS, "particles", "piecewise", "fourier"))
def test_penalty_of_a_baked_net(control):
    """By the integrator's own rule, which for a fine grid is the integral."""
    net = make_net("affine", control, integrator=sx.RK4(steps=40), T=1.5)
    np.testing.assert_allclose(sx.penalty(sx.bake(net)), sx.penalty(net), rtol=1e-5)


def test_complexity_of_a_baked_net():
    net = make_net("updown", "particles", integrator=sx.RK4(steps=40))
    np.testing.assert_allclose(sx.complexity(sx.bake(net)), sx.complexity(net), rtol=1e-6)


def test_another_integrator():
    net = make_net("updown", "particles", integrator=sx.Dopri5(rtol=1e-10, atol=1e-12))
    baked = sx.bake(net, integrator=sx.RK4(steps=20))
    x = inputs(net.field)
    assert_close(baked(x), net(x), rtol=1e-5)


def test_every_net_of_a_larger_model_is_baked():
    chain = sx.Chain(make_net("updown", "particles"), jnp.tanh, make_net("affine", "frozen"))
    baked = sx.bake(chain)
    x = inputs(chain.nets[0].field)
    assert isinstance(baked.nets[0].control, sx.extend.Stagewise)
    assert isinstance(baked.nets[2].control, sx.extend.Stagewise)
    assert_close(baked(x), chain(x))


@pytest.mark.parametrize("control", ["particles", "piecewise", "legendre", "given"])
def test_single_precision_stays_single(control):
    net = cast(make_net("updown", control), jnp.float32)
    baked, x = sx.bake(net), cast(inputs(net.field), jnp.float32)
    assert {leaf.dtype for leaf in arrays(baked)} == {np.dtype(np.float32)}
    assert_close(baked(x), net(x), rtol=1e-5, atol=1e-6)


def test_gradients_go_through_baking():
    net = make_net("updown", "particles")
    x = inputs(net.field)
    live = eqx.filter_grad(lambda n: jnp.sum(n(x) ** 2))(net)
    through = eqx.filter_grad(lambda n: jnp.sum(sx.bake(n)(x) ** 2))(net)
    assert_close(arrays(through), arrays(live), rtol=1e-9)


def test_a_baked_net_cannot_be_baked_or_used_otherwise():
    net = make_net("affine", "particles")
    baked, x = sx.bake(net), inputs(net.field)
    with pytest.raises(ValueError, match="baked already"):
        sx.bake(baked)
    with pytest.raises(ValueError, match="at the grid points"):
        baked(x, np.array([0.123]))
    with pytest.raises(ValueError, match="at the grid points"):
        sx.flow(baked.field, baked.control, x, integrator=baked.integrator, reverse=True)
    for other in (sx.RK4(steps=7), sx.Euler(steps=5), sx.Tsit5()):
        with pytest.raises(ValueError, match="Bake the original model again"):
            sx.flow(baked.field, baked.control, x, integrator=other)


def test_an_adaptive_integrator_has_nothing_to_bake():
    with pytest.raises(ValueError, match="Tsit5 has no fixed stages to bake"):
        sx.bake(make_net("affine", "particles", integrator=sx.Tsit5()))


@pytest.mark.parametrize("integrator", [sx.RK4(steps=5), sx.Tsit5()], ids=["rk4", "tsit5"])
@pytest.mark.parametrize("batch_size", [3, 100])
def test_predict_in_batches_equals_one_batch(integrator, batch_size):
    net = make_net("updown", "particles", integrator=integrator)
    x = inputs(net.field, rows=7)
    tolerance = 1e-12 if isinstance(integrator, sx.RK4) else 1e-4
    got = sx.predict(net, x, batch_size=batch_size)
    np.testing.assert_allclose(got, net(x), rtol=tolerance, atol=tolerance)


def test_predict_with_trees_and_chains():
    net = make_net("pendulum", "particles")
    x = inputs(net.field, rows=5)
    assert_close(sx.predict(net, x, batch_size=2), net(x))
    chain = sx.Chain(make_net("updown", "particles"), make_net("affine", "legendre"))
    x = inputs(chain.nets[0].field, rows=5)
    assert_close(sx.predict(chain, x, batch_size=2), chain(x))
    assert_close(sx.predict(sx.bake(chain), x, batch_size=2), chain(x))


@pytest.mark.parametrize(
    "kinds", [("particles", "particles"), ("frozen", "particles")], ids="-".join
)
def test_predict_with_particles_that_are_passed_on(kinds):
    nets = tuple(make_net("updown", kind) for kind in kinds)
    chain = sx.nn.ParticleChain(nets, (jnp.tanh,))
    x = inputs(nets[0].field, rows=5)
    assert_close(sx.predict(chain, x, batch_size=2), chain(x))
    wrapped = sx.Chain(chain, jnp.sin)
    assert_close(sx.predict(wrapped, x, batch_size=2), wrapped(x))


def test_predict_of_nothing():
    with pytest.raises(ValueError, match="no samples"):
        sx.predict(make_net("affine", "particles"), jnp.zeros((0, 2)))


def test_baking_happens_inside_other_programs():
    net = make_net("affine", "particles")
    x = inputs(net.field)
    assert_close(eqx.filter_jit(lambda n, x: sx.bake(n)(x))(net, x), net(x))
    assert jax.eval_shape(lambda x: sx.bake(net)(x), x).shape == (3, 2)


KEPT = {
    "updown": lambda: (sx.UpDown(2, 3, activation="tanh"), None),
    "damped": lambda: (sx.DampedUpDown(2, 3), None),
    "affine": lambda: (sx.Affine(2, activation="tanh"), None),
    "matrix": lambda: (
        sx.UpDown(2, 2),
        sx.Quadratic({"theta1": np.array([[2.0, 0.3], [0.3, 1.0]]), "theta3": 10.0}),
    ),
}


@pytest.mark.parametrize("name", KEPT)
def test_kept_particles_move_data_as_live_ones_do(name, tmp_path):
    field, penalty = KEPT[name]()
    control = sx.Particles.draw(field, 3, penalty=penalty, key=KEY)
    net = sx.Net(field, control, integrator=sx.RK4(3), key=KEY)
    kept, x = sx.bake(net, form="kernel"), inputs(field)
    assert isinstance(kept.control, sx.extend.StagewiseParticles)
    assert_close(kept(x), net(x), rtol=1e-11, atol=1e-12)
    assert_close(sx.penalty(kept), sx.penalty(sx.bake(net)), rtol=1e-11)
    sx.save(tmp_path / "kept.safetensors", kept)
    assert_close(sx.load(tmp_path / "kept.safetensors")(x), kept(x), rtol=0)


def test_kept_particles_with_fewer_steps_for_the_data():
    field = sx.UpDown(2, 3)
    net = sx.Net(field, sx.Particles.draw(field, 3, key=KEY), integrator=sx.RK4(6), key=KEY)
    plain, kept = (sx.bake(net, integrator=sx.RK4(3), form=form) for form in ("dense", "kernel"))
    x = inputs(field)
    assert_close(kept(x), plain(x), rtol=1e-11)
    with pytest.raises(ValueError, match="baked already"):
        sx.bake(kept)
    with pytest.raises(ValueError, match="only at the stages of its integrator"):
        sx.theta_path(kept, [0.5])


def test_particles_are_kept_where_that_predicts_faster():
    """One particle for a state of 40 numbers; and as many as the state has."""
    field = sx.UpDown(1, 39)
    for particles, kind in ((1, sx.extend.StagewiseParticles), (40, sx.extend.Stagewise)):
        net = sx.Net(field, particles=particles, integrator=sx.Euler(2), key=KEY)
        assert isinstance(sx.bake(net, form="auto").control, kind)
    static = sx.Net(field, sx.formulation("static-direct", field, key=KEY), key=KEY)
    assert isinstance(sx.bake(static, form="auto").control, sx.extend.Stagewise)
    with pytest.raises(ValueError, match="form='kernel' needs dynamic particles"):
        sx.bake(static, form="kernel")
    with pytest.raises(ValueError, match="form"):
        sx.bake(static, form="fast")  # pyright: ignore[reportArgumentType]
