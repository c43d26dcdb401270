"""Every bound holds: for random models, for trained ones, and sharply where it can be."""

import dataclasses
import json

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from theory_models import FIELDS, QUICK, inputs, random_net

import shootax as sx
from shootax import theory
from shootax.theory._bounds import Growth
from shootax.theory._measure import _quotients
from shootax.theory._model import weight_path
from shootax.theory._structure import field_bounds
from shootax.theory._table import block_table, convolution_norm
from test_documentation import blocks, promised

STEPS = 50


def check(net, x, **options):
    found = theory.certify(net, x, steps=STEPS, jacobians=6, **options)
    for row in found.rows:
        assert row.measured <= (1 + 1e-6) * row.energy, row
        assert row.measured <= (1 + 1e-6) * row.path, row
        assert 0 <= row.ratio <= 1 + 1e-6
        assert row.quantity in found.table()
    assert found.holds
    assert found.is_homeomorphism, found.table()
    return found


@pytest.mark.parametrize("name", QUICK)
def test_bounds_hold_for_random_models(name):
    field = FIELDS[name]()
    for seed in range(3):
        found = check(random_net(field, seed), inputs(field, seed=seed))
        assert found.conserved
        # A particle that crosses the kink of ReLU costs the integrator its order.
        assert found.drift < (1e-3 if "relu" in name else 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIELDS)
def test_bounds_hold_for_many_random_models(name):
    field = FIELDS[name]()
    scale = 0.1 if name == "convolution" else 0.4
    for seed in range(20):
        check(random_net(field, 100 + seed, scale), inputs(field, seed=seed))


@pytest.mark.slow
@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize("name", ["updown-relu", "updown-tanh", "affine-gelu", "rkhs"])
def test_bounds_hold_for_trained_models(name):
    field = FIELDS[name]()
    for seed in range(5):
        x = inputs(field, samples=20, seed=seed)
        y = jnp.tanh(2 * x) + 0.3 * jnp.sin(3 * x[:, ::-1])
        net = sx.fit(random_net(field, seed, 0.2), x, y, epochs=30, seed=seed, progress=False).net
        check(net, x)


def test_the_norm_is_conserved_and_known_from_the_particles_alone():
    field = FIELDS["updown-softplus"]()
    net = random_net(field, 5)
    found = theory.certify(net, inputs(field), steps=STEPS)  # RK4 with 100 steps for the particles
    assert found.drift < 1e-6
    np.testing.assert_allclose(found.norm_path, 2 * sx.penalty(net), rtol=1e-6)
    np.testing.assert_allclose(found.length, np.sqrt(2 * sx.penalty(net)), rtol=1e-9)


@pytest.mark.slow
def test_the_kink_of_relu_costs_the_integrator_its_order():
    """Doubling the steps divides the drift by 16 without a crossing, and by about 2 with one."""

    def drifts(name):
        nets = [random_net(FIELDS[name](), seed) for seed in range(6)]
        found = []
        for steps in (25, 50, 100):  # RK4 takes twice as many
            paths = [weight_path(net, steps).norm_squared for net in nets]
            found.append([np.abs(path / path[0, 0] - 1).max() for path in paths])
        return np.array(found)

    smooth, kinked = drifts("updown-softplus"), drifts("updown-relu")
    assert (smooth[1:] < smooth[:-1] / 10).all()
    assert smooth[1].max() < 1e-6  # 100 steps
    assert kinked[1].max() > 100 * smooth[1].max()
    assert kinked[2].max() > kinked[0].max() / 16  # not even the order 2
    without = np.argmin(kinked[2])  # an ensemble that crosses none
    assert kinked[2, without] < kinked[0, without] / 100


def kernel_by_differentiation(net, z):
    """$L_z M^{-1} L_z^⊤$ for one state."""
    field, penalty = net.field, net.control.penalty
    zero = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), field.theta)

    def adjoint(u):
        return penalty.solve(jax.grad(lambda theta: jnp.vdot(u, field(z, theta)))(zero))

    return jax.vmap(lambda u: field(z, adjoint(u)))(jnp.eye(z.size))


def test_the_kernel_is_the_one_of_the_penalty():
    field = FIELDS["updown-softplus"]()
    net = random_net(field, 0)
    z = np.random.default_rng(0).normal(size=(3, field.state.shape[0]))
    found = field_bounds(net, field.state.shape, None).kernel_at(z)
    for each, (kx, kv) in zip(z, found, strict=True):
        x, s = each[:2], np.logaddexp(0, each[2:])
        np.testing.assert_allclose(kx, s @ s + 1)  # w1 = w_b1 = 1
        np.testing.assert_allclose(kv, s @ s / 10 + x @ x + 1)  # w3 = 10
        matrix = np.asarray(kernel_by_differentiation(net, jnp.asarray(each)))
        np.testing.assert_allclose(matrix, np.diag([kx] * 2 + [kv] * 4), atol=1e-12)


def test_a_matrix_for_a_strength_bounds_the_kernel():
    field, M = sx.Affine(2, activation="tanh"), np.array([[2.0, 0.9], [0.9, 1.0]])
    control = sx.Particles.draw(field, 3, penalty=sx.Quadratic(A=M), key=jax.random.key(0))
    net = sx.Net(field, control, key=jax.random.key(1))
    z = np.array([[0.4, -1.0]])
    exact = np.linalg.eigvalsh(np.asarray(kernel_by_differentiation(net, jnp.asarray(z[0]))))
    bound = field_bounds(net, (2,), None).kernel_at(z)[0, 0]
    assert exact[-1] <= bound * (1 + 1e-12)
    np.testing.assert_allclose(exact[-1], bound)  # the bias shares the direction here
    check(net, inputs(field))


@pytest.mark.parametrize(("space", "window"), [((6,), 3), ((4, 5), 3), ((7,), 4), ((4, 4), 2)])
def test_norms_of_convolutions(space, window):
    """At least that of the matrix, and not much more although the images are small."""
    field = sx.ConvAffine(2, space, window=window, activation="identity")
    rng = np.random.default_rng(0)
    for _ in range(3):
        A = rng.normal(size=(2, 2, *(window,) * len(space)))
        theta = {"A": jnp.asarray(A), "b": jnp.zeros(2)}
        matrix = jax.jacobian(lambda z: field(z, theta))(jnp.zeros((2, *space)))  # noqa: B023
        exact = np.linalg.norm(np.asarray(matrix).reshape(2 * np.prod(space), -1), 2)
        bound = convolution_norm(A, len(space))
        assert exact <= bound <= 2 * exact
    table = block_table(field, field.layout, sx.Quadratic(), (2, *space), None)
    steep = np.array([[1.0, 3.0, 2.0]])
    for term in table.terms:
        if term.source is not None:
            np.testing.assert_allclose(term.norms(A[None]), [bound])
            np.testing.assert_allclose(term.norms(A[None, None], steep), [[3 * bound]])


def held(field, theta, T=1.0, **options):
    net = sx.Net(
        field, sx.Static(field, T=T, key=jax.random.key(0)), key=jax.random.key(0), **options
    )
    return eqx.tree_at(lambda n: n.control.theta, net, theta)


def test_bounds_are_sharp_where_the_flow_is_linear():
    field, a = sx.Affine(1, activation="identity"), 1.3
    net = held(field, {"A": jnp.array([[a]]), "b": jnp.zeros(1)})
    found = check(net, jnp.linspace(-1, 1, 5)[:, None])
    for name in ("radius", "displacement", "Lipschitz constant of the flow"):
        np.testing.assert_allclose(found[name].ratio, 1, atol=1e-6)
    np.testing.assert_allclose(found["Lipschitz constant of the flow"].energy, np.exp(a))
    np.testing.assert_allclose(
        found["Lipschitz constant of the inverse"].measured, np.exp(-a), rtol=1e-6
    )


def test_the_radius_from_the_norm_alone_is_attained():
    """A bias alone, then none: $r' = B \\sqrt{c_0 + c_1 r^2}$ has the closed form with sinh."""
    growth, start, length = Growth(0.5, 2.0), 0.3, 1.7
    r = np.array([start])
    for _ in range(20000):
        r = r + length / 20000 * np.sqrt(
            0.5 + 2 * (r + length / 40000 * np.sqrt(0.5 + 2 * r**2)) ** 2
        )
    np.testing.assert_allclose(growth.radius(start, length), r[0], rtol=1e-6)
    assert Growth(4.0, 0.0).radius(1.0, 2.0) == 5.0
    np.testing.assert_allclose(Growth(0.0, 4.0).radius(1.0, 0.5), np.e)
    assert Growth(1.0, 1.0).radius(1.0, 1e4) == np.inf


@pytest.mark.parametrize("kind", ["piecewise", "frozen"])
def test_other_controls(kind):
    field, key = FIELDS["affine-gelu"](), jax.random.key(3)
    control = (
        sx.Piecewise(field, 3, key=key)
        if kind == "piecewise"
        else sx.FrozenParticles.draw(field, 4, key=key)
    )
    net = sx.Net(field, control, integrator=sx.RK4(steps=30), key=key)
    found = check(net, inputs(field))
    assert found.conserved == (kind == "frozen")
    assert found.integrator_error < 1e-4  # jumps are met at the right side
    least = 1 / found["Lipschitz constant of the inverse"].bound
    for factor, invertible in ((1.5, True), (0.9, False)):
        other = dataclasses.replace(found, smallest_singular_value=factor * least)
        assert other.is_homeomorphism == invertible
    steps = {"piecewise": 51, "frozen": 50}[kind]  # so that jumps are on the grid
    assert weight_path(net, 50).steps == steps
    assert found.singular_values.shape == (6, 2)


def test_a_ball_instead_of_the_data():
    field = FIELDS["affine-gelu"]()
    net, x = random_net(field, 1), inputs(field)
    assert check(net, x, radius=10.0)["radius"].bound > check(net, x)["radius"].bound
    with pytest.raises(ValueError, match="Use a larger radius"):
        theory.certify(net, x, radius=0.1)
    with pytest.raises(ValueError, match="unbounded domain"):
        theory.certify(net, x, radius=np.inf)


@pytest.mark.slow
def test_no_momenta_no_motion():
    """Bounds of a model that does nothing, in a space where the norm gives no Lipschitz constant."""
    field = FIELDS["kernels"]()
    net = random_net(field, 0)
    still = eqx.tree_at(lambda n: n.control.ensemble.p, net, replace_fn=jnp.zeros_like)
    found = check(still, [[1, 2], [3, 4]])  # whole numbers in lists will do
    assert found["displacement"].bound == 0
    assert found["Lipschitz constant of the flow"].bound == 1
    moving = check(net, [[1, 2], [3, 4]])["Lipschitz constant of the flow"]
    assert moving.energy == np.inf
    assert np.isfinite(moving.path)


def swish(x):
    return x * jax.nn.sigmoid(x)


def test_an_activation_of_one_s_own():
    field = sx.Affine(2, activation=swish)
    net, x = random_net(field, 2), inputs(field)
    with pytest.raises(ValueError, match="'swish' are not known"):
        theory.certify(net, x)
    bounds = theory.ActivationBounds(lipschitz=1.1, growth=1.0)
    first, second = (check(net, x, activations=given) for given in (bounds, {swish: bounds}))
    assert first.rows == second.rows
    with pytest.raises(ValueError, match="finite Lipschitz constant"):
        theory.ActivationBounds(lipschitz=np.inf)


def test_the_kernel_grows_with_the_square_of_the_slope():
    net = random_net(sx.Affine(2, activation=swish), 2)
    flat, steep = (
        field_bounds(net, (2,), theory.ActivationBounds(lipschitz=slope)).growths
        for slope in (1.0, 3.0)
    )
    assert [b.c1 for b in steep] == pytest.approx([9 * a.c1 for a in flat])


def test_what_the_theory_does_not_cover_is_explained():
    key, x = jax.random.key(0), jnp.ones((3, 2))
    hidden = sx.SingleHiddenLayer(2, 3)
    with pytest.raises(ValueError, match="not linear in θ"):
        theory.certify(sx.Net(hidden, sx.Static(hidden, key=key), key=key), x)
    with pytest.raises(ValueError, match="has damping"):
        theory.certify(sx.Net(sx.DampedUpDown(2, 2), particles=3, key=key), x)
    affine = sx.Affine(2)
    control = sx.Particles.draw(affine, 3, penalty=sx.Transport(), key=key)
    with pytest.raises(ValueError, match="needs a quadratic penalty"):
        theory.certify(sx.Net(affine, control, key=key), x)
    net = sx.Net(affine, particles=3, key=key)
    for nothing in (None, jnp.ones((0, 2))):
        with pytest.raises(ValueError, match="needs data"):
            theory.certify(net, nothing)
    with pytest.raises(ValueError, match="needs a single Net"):
        theory.certify("a net", x)
    with pytest.raises(ValueError, match="baked"):
        theory.certify(sx.bake(net), x)
    turn = sx.FunctionField(
        lambda z, th: th["s"] * jnp.stack([-z[1], z[0]]), state=sx.shape(2), theta={"s": sx.shape()}
    )
    with pytest.raises(ValueError, match="give its `layout`"):
        theory.certify(sx.Net(turn, particles=3, key=key), x)


def test_a_certificate_as_plain_values():
    field = FIELDS["affine-gelu"]()
    found = theory.certify(random_net(field, 0), inputs(field), steps=STEPS)
    values = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert values["holds"] is True
    assert [row["quantity"] for row in values["rows"]] == [row.quantity for row in found.rows]
    with pytest.raises(KeyError, match="Choose from: kernel"):
        found["nothing"]


def examples():
    for name, thing in vars(theory).items():
        for code in blocks(getattr(thing, "__doc__", None) or ""):
            yield pytest.param(code, id=name)


@pytest.mark.slow
@pytest.mark.parametrize("code", list(examples()))
def test_examples_print_what_they_say(code, capsys):
    exec(compile(code, "example", "exec"), {})
    assert capsys.readouterr().out.split("\n")[:-1] == list(promised(code))


def test_quotients_are_of_distances():
    """A map that doubles all distances, by pairs of points that are not on one side of zero."""
    before = np.array([[0.0, 1.0], [-1.0, 3.0], [2.0, -5.0], [2.0, -5.0]])
    found = _quotients(before, 5.0 - 2 * before)
    np.testing.assert_allclose(found, [2.0] * 5, rtol=1e-12)  # two points are the same
