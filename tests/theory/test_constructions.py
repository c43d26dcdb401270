"""Flows of hidden layers as UpDown flows, and UpDown flows that follow a given field."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import shootax as sx
from shootax import theory
from shootax.data import spiral
from shootax.theory._approximate import _features

DIM, WIDTH = 2, 5
TIGHT = sx.Dopri5(rtol=1e-11, atol=1e-12)


def smooth(seed=0, width=WIDTH):
    """Weights that swing in time, every one of them."""
    rng = np.random.default_rng(seed)
    shapes = {"theta1": (DIM, width), "theta2": (width, DIM), "b1": (DIM,), "b2": (width,)}
    still = {name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}
    swing = {name: jnp.asarray(rng.normal(size=shape)) for name, shape in shapes.items()}

    def path(t):
        return {name: still[name] + jnp.sin(3 * t + seed) * swing[name] for name in shapes}

    return path


def reference(pieces, times, x, sigma=np.tanh):
    """The flow of the hidden layers themselves, piece by piece, by SciPy."""
    z = np.asarray(x)
    for path, begin, end in zip(pieces, times[:-1], times[1:], strict=True):
        weights = jax.jit(path)

        def rate(t, y, weights=weights):
            w = {name: np.asarray(leaf) for name, leaf in weights(t).items()}
            state = y.reshape(-1, DIM)
            return (sigma(state @ w["theta2"].T + w["b2"]) @ w["theta1"].T + w["b1"]).ravel()

        solved = solve_ivp(rate, (begin, end), z.ravel(), "DOP853", rtol=1e-11, atol=1e-12)
        z = solved.y[:, -1].reshape(-1, DIM)
    return z


@pytest.fixture
def x():
    return np.random.default_rng(3).normal(size=(6, DIM))


def test_smooth_weights_give_the_same_flow(x):
    net = theory.updown_from_hidden_layer(smooth(), integrator=TIGHT, T=1.3)
    assert net.field.hidden_size == 6  # five neurons, and one that does nothing
    expected = reference([smooth()], (0, 1.3), x)
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, atol=1e-8)


def test_hidden_state_stays_on_the_hidden_layer(x):
    """$v = θ_2 x + b_2$ at all times, which is what the derivation claims."""
    path = smooth()
    net = theory.updown_from_hidden_layer(path, integrator=TIGHT)
    times = np.linspace(0, 1, 5)
    states = np.asarray(net.states(jnp.asarray(x), times))
    for i, t in enumerate(times):
        w = path(t)
        inner = states[:, i, :DIM] @ np.asarray(w["theta2"]).T + np.asarray(w["b2"])
        np.testing.assert_allclose(states[:, i, DIM : DIM + WIDTH], inner, atol=1e-8)


@pytest.mark.parametrize("as_printed", ["bracket", "start"])
def test_the_formulas_as_printed_give_another_flow(x, as_printed):
    """$θ_2 θ_1 (σ(v) + b_1)$, which has the right shapes only for as many neurons as dimensions, and a
    start without $b_2(0)$: each misses by far."""
    path, integrator = smooth(width=DIM), sx.RK4(steps=100)
    net = theory.updown_from_hidden_layer(path, integrator=integrator)
    expected, start, control = reference([path], (0, 1), x), np.array(net.lifted(x)), net.control
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, atol=1e-6)
    if as_printed == "bracket":

        def printed(t):
            w = path(jnp.asarray(t))
            right = net.control.function(t)
            return {**right, "b2": right["b2"] + w["theta2"] @ (w["theta1"] @ w["b1"] - w["b1"])}

        control = sx.FunctionControl(net.field, printed)
    else:
        start[:, DIM:] -= np.asarray(net.lift.bias)
    wrong = sx.flow(net.field, control, jnp.asarray(start), integrator=integrator)
    assert np.abs(np.asarray(wrong)[:, :DIM] - expected).max() > 1e-2


@pytest.mark.parametrize(
    "integrator", [sx.Dopri5(rtol=1e-9, atol=1e-10), sx.RK4(steps=200)], ids=["dopri5", "rk4"]
)
def test_weights_that_jump_give_the_same_flow(x, integrator):
    pieces, times = [smooth(s) for s in (1, 2, 3)], (0.0, 0.3, 0.6, 1.0)
    net = theory.updown_from_pieces(pieces, times[1:-1], integrator=integrator)
    np.testing.assert_allclose(net(jnp.asarray(x)), reference(pieces, times, x), atol=1e-6)
    assert np.isfinite(sx.penalty(net))


@pytest.mark.slow
def test_relu_layers_that_jump(x):
    pieces, times = [smooth(s) for s in (4, 5)], (0.0, 0.5, 1.0)
    integrator = sx.Dopri5(rtol=1e-9, atol=1e-10)
    net = theory.updown_from_pieces(pieces, [0.5], activation="relu", integrator=integrator)
    expected = reference(pieces, times, x, lambda s: np.maximum(s, 0))
    np.testing.assert_allclose(net(jnp.asarray(x)), expected, atol=1e-6)


def test_mistakes_are_explained():
    with pytest.raises(ValueError, match="dictionary with the weights theta1"):
        theory.updown_from_hidden_layer(lambda t: {"theta1": jnp.ones((2, 3))})
    with pytest.raises(ValueError, match="2 pieces need 1 jumps"):
        theory.updown_from_pieces([smooth(), smooth()], [0.2, 0.4])
    with pytest.raises(ValueError, match="same shape"):
        theory.approximate_flow(lambda t, x: x[:, :1], np.ones((3, 2)))
    with pytest.raises(ValueError, match="initial states of shape"):
        theory.approximate_flow(lambda t, x: x, np.ones(3))


def vortex(t, x):
    """A vortex that turns on and off."""
    strength = np.sin(np.pi * t) ** 2 * np.exp(-np.sum(x**2, axis=1) / 2)
    return 2 * strength[:, None] * np.stack([-x[:, 1], x[:, 0]], axis=1)


def cubic(t, x):
    """The field $A x^3$ that the spiral follows, slowed down."""
    A = np.array([[-0.1, 2.0], [-2.0, -0.1]])
    return 0.5 * x**3 @ A


def test_the_cubic_field_is_that_of_the_spiral():
    curve = spiral(2001)
    slope = (curve.x[2:] - curve.x[:-2]) / (curve.times[2:] - curve.times[:-2])[:, None]
    np.testing.assert_allclose(2 * cubic(0, curve.x[1:-1]), slope, atol=1e-2)


FIELDS = {"vortex": vortex, "spiral": cubic}


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("vortex", True),
        ("spiral", True),
        pytest.param("vortex", False, marks=pytest.mark.slow),
        pytest.param("spiral", False, marks=pytest.mark.slow),
    ],
)
def test_errors_are_below_their_bound_and_fall(name, shared):
    points = np.random.default_rng(1).uniform(-1, 1, (15, 2))
    sizes = [(2, 8), (8, 60)] if shared else [(2, 8), (4, 24)]
    found = [
        theory.approximate_flow(FIELDS[name], points, slices=k, width=h, shared=shared)
        for k, h in sizes
    ]
    for each in found:
        assert 0 < each.measured <= each.bound < np.inf
        assert each.ratio <= 1
    assert found[1].measured < 0.3 * found[0].measured
    assert found[1].bound < found[0].bound


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_errors_fall_with_every_refinement(name):
    points = np.random.default_rng(1).uniform(-1, 1, (15, 2))
    sizes = [(1, 5), (2, 10), (4, 20), (8, 40), (16, 80)]
    found = [theory.approximate_flow(FIELDS[name], points, slices=k, width=h) for k, h in sizes]
    assert all(each.measured <= each.bound for each in found)
    errors, bounds = [f.measured for f in found], [f.bound for f in found]
    assert errors == sorted(errors, reverse=True)
    assert bounds == sorted(bounds, reverse=True)


@pytest.mark.slow
def test_what_was_built_is_a_model_like_any_other(tmp_path, x):
    found = theory.approximate_flow(vortex, x, slices=2, width=6)
    sx.save(tmp_path / "net.safetensors", found.net)
    again = sx.load(tmp_path / "net.safetensors")
    np.testing.assert_array_equal(again(x), found.net(x))
    np.testing.assert_allclose(sx.bake(found.net)(x), found.net(x), atol=1e-12)
    assert theory.certify(found.net, x, steps=20, jacobians=2).holds


@pytest.mark.slow
def test_constructions_have_certificates(x):
    nets = (
        theory.updown_from_hidden_layer(smooth()),
        theory.updown_from_pieces([smooth(1), smooth(2)], [0.5], integrator=sx.RK4(steps=200)),
    )
    for net in nets:
        found = theory.certify(net, x, steps=100, jacobians=2)
        assert found.holds
        assert not found.conserved
        assert found.integrator_error < 1e-4


def test_a_flow_that_leaves_the_box_has_no_bound():
    """A push that a coarse fit overdoes: without a margin the net leaves the box."""
    found = theory.approximate_flow(vortex, np.ones((1, 2)), slices=1, width=2, margin=0.0)
    assert found.bound == np.inf or found.measured <= found.bound


def test_features_cross_the_box():
    """Planes through points of the box, as steep as the box is wide; wider layers add neurons."""
    low, high = np.array([-1.0, 10.0]), np.array([3.0, 10.5])
    wide, narrow = (_features(n, low, high, np.random.default_rng(0)) for n in (200, 50))
    np.testing.assert_array_equal(wide["theta2"][:50], narrow["theta2"])
    steep = np.linalg.norm(wide["theta2"] * (high - low) / 2, axis=1)
    assert 0.3 <= steep.min() < 0.35
    assert 2.4 < steep.max() <= 2.5
    corners = np.array([[x, y] for x in (low[0], high[0]) for y in (low[1], high[1])])
    sides = corners @ wide["theta2"].T + wide["b2"]
    assert np.all(sides.min(axis=0) <= 0)
    assert np.all(sides.max(axis=0) >= 0)


def test_errors_are_taken_at_twice_as_many_points():
    sizes = set()

    def velocity(t, x):
        sizes.add(len(x))
        return vortex(t, x)

    theory.approximate_flow(velocity, np.ones((1, 2)), slices=1, width=2, samples=70)
    assert {70, 140} <= sizes
