"""Layout inference: block layouts from the traced programs of fields that users wrote."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY, Pendulum, Rotor, assert_close, spd, usually
from shootax._fields import InferredField
from shootax._systems import LinearSystem
from shootax._systems.inferred import InferredSystem

D, H = 2, 3
SHAPES = {
    "theta1": sx.shape(D, H), "b1": sx.shape(D), "theta2": sx.shape(H, D), "b2": sx.shape(H),
    "theta3": sx.shape(H, H),
}  # fmt: skip


def updown(activation=jnp.tanh):
    """The field of the paper as a user writes it."""

    def f(z, theta):
        x, v = z[:D], z[D:]
        s = activation(v)
        up = theta["theta1"] @ s + theta["b1"]
        return jnp.concatenate([up, theta["theta2"] @ x + theta["b2"] + theta["theta3"] @ s])

    return sx.FunctionField(f, state=sx.shape(D + H), theta=SHAPES)


def twice():
    """The activation computed where it is needed, products by einsum, the state split."""

    def f(z, theta):
        x, v = jnp.split(z, [D])
        up = jnp.einsum("ij,j->i", theta["theta1"], jax.nn.silu(v)) + theta["b1"]
        down = jnp.dot(theta["theta2"], x) + jnp.einsum("j,ij->i", jax.nn.silu(v), theta["theta3"])
        return jnp.hstack([up, theta["b2"] + down])

    return sx.FunctionField(f, state=sx.shape(D + H), theta=SHAPES)


def from_the_right():
    """Weights that stand on the right, one of them with an axis of its own."""

    def f(z, theta):
        s = jnp.maximum(z, 0.1 * z)
        return s @ theta["W"][0] + theta["b"].reshape(-1)

    return sx.FunctionField(
        f, state=sx.shape(4), theta={"W": sx.shape(1, 4, 4), "b": sx.shape(2, 2)}
    )


def one_matrix():
    """All weights in one matrix, and a constant feature among the others."""

    def f(z, theta):
        features = jnp.concatenate([z["x"], jnp.sin(z["v"]), jnp.ones(1), z["v"].ravel() ** 2])
        out = theta @ features
        return {"x": out[:D], "v": out[D:]}

    state = {"x": sx.shape(D), "v": sx.shape(H)}
    return sx.FunctionField(f, state=state, theta=sx.shape(D + H, D + 2 * H + 1))


def still():
    """Part of the state is moved by nothing."""

    def f(z, theta):
        return jnp.concatenate([jnp.zeros(2), theta["A"] @ jnp.cos(z[:2])])

    return sx.FunctionField(f, state=sx.shape(5), theta={"A": sx.shape(3, 2)})


WRITTEN = {
    "tanh": updown,
    "relu": lambda: updown(jax.nn.relu),
    "softplus": lambda: updown(jax.nn.softplus),
    "gelu": lambda: updown(jax.nn.gelu),
    "elu": lambda: updown(jax.nn.elu),
    "leaky": lambda: updown(jax.nn.leaky_relu),
    "hard": lambda: updown(lambda v: jnp.clip(v, -0.2, 0.3)),
    "twice": twice,
    "from-the-right": from_the_right,
    "one-matrix": one_matrix,
    "still": still,
    "pendulum": Pendulum,
}


def states(field, rows):
    rng = np.random.default_rng(0)
    return jax.tree.map(lambda leaf: jnp.asarray(rng.normal(size=(rows, *leaf.shape))), field.state)


def value_and_gradient(field, form, penalty=None):
    penalty = penalty or sx.Quadratic(default=2.0)
    z = states(field, 4)

    def objective(ensemble, z):
        control = sx.Particles(field, ensemble, penalty=penalty, form=form)
        moved = sx.flow(field, control, z, integrator=sx.Euler(2))
        return sum(jnp.sum(jnp.sin(leaf) * leaf) for leaf in jax.tree.leaves(moved))

    ensemble = sx.Ensemble.draw(field, 3, momentum=0.5, key=KEY)
    return jax.jit(jax.value_and_grad(objective, argnums=(0, 1)))(ensemble, z)


@pytest.mark.parametrize("name", usually(WRITTEN, "softplus", "twice"))
def test_an_inferred_field_moves_as_it_is(name):
    """Value and training gradient against plain differentiation of the user's function."""
    field = WRITTEN[name]()
    assert isinstance(sx.extend.infer_layout(field), InferredField)
    wanted = value_and_gradient(field, "automatic")
    for form in ("dense", "kernel"):
        assert_close(value_and_gradient(field, form), wanted, rtol=1e-10, atol=1e-11)


def test_the_layouts_of_the_fields_of_the_library_are_inferred():
    for field in (
        sx.UpDown(2, 2), sx.Affine(3, activation="tanh"), sx.GeneralUpDown(1, 2), sx.Periodic(2),
        sx.BlockSparse((2, 1), [(0, 1), (1, 0)]),
    ):  # fmt: skip
        wrapped = sx.FunctionField(field.__call__, state=field.state, theta=field.theta)
        inferred = sx.extend.infer_layout(wrapped)
        assert inferred is not None
        assert list(inferred.layout.parts.values()) == list(field.layout.parts.values())
        assert len(inferred.layout.features) == len(field.layout.features)
        assert {source.entry for source in inferred.sources if source.whole} == set(field.theta)


@pytest.mark.parametrize("form", ["dense", "kernel"])
def test_weights_of_the_penalty_follow_their_entries(form):
    field = updown()
    penalty = sx.Quadratic(theta3=10.0, b1=0.5, theta2=spd(H), b2=spd(H, 1))
    wanted = value_and_gradient(field, "automatic", penalty)
    assert_close(value_and_gradient(field, form, penalty), wanted, rtol=1e-10, atol=1e-11)


TURNED = {
    "W": (lambda z, th: jnp.tanh(z) @ th["W"] + th["b"], sx.shape(4)),
    "b": (lambda z, th: th["W"] @ jnp.tanh(z) + th["b"].reshape(4), sx.shape(2, 2)),
}


@pytest.mark.parametrize("name", TURNED)
def test_a_matrix_of_the_penalty_that_weighs_another_axis_is_left_to_the_linear_form(name):
    """It weighs the leading axis, which is not the one of velocities there."""
    function, bias = TURNED[name]
    theta = {"W": sx.shape(4, 4), "b": bias}
    field = sx.FunctionField(function, state=sx.shape(4), theta=theta)
    penalty = sx.Quadratic({name: spd(theta[name].shape[0])})
    wanted = value_and_gradient(field, "automatic", penalty)
    assert_close(value_and_gradient(field, "auto", penalty), wanted, rtol=1e-10, atol=1e-11)
    with pytest.raises(ValueError, match="needs a field made of blocks"):
        value_and_gradient(field, "dense", penalty)


def test_derivatives_given_by_hand_are_kept():
    """`relu` has slope zero at zero, and a straight-through step has a slope of its own."""

    @jax.custom_jvp
    def step(v):
        return jnp.sign(v)

    @step.defjvp
    def _(primals, tangents):
        return step(primals[0]), tangents[0] * (1 - jnp.tanh(primals[0]) ** 2)

    for activation in (jax.nn.relu, jax.nn.softplus, step):
        inferred = sx.extend.infer_layout(updown(activation))
        assert inferred is not None
        ours = inferred.layout.features[1].function
        points = jnp.array([-2.0, -1e-3, 0.0, 1e-3, 5.0])
        for order in range(3):
            wanted, got = activation, ours
            for _ in range(order):
                wanted, got = (jax.grad(g) for g in (wanted, got))
            np.testing.assert_allclose(jax.vmap(got)(points), jax.vmap(wanted)(points), rtol=1e-12)


def test_piecewise_linear_functions_are_known_as_such():
    def straight(activation):
        inferred = sx.extend.infer_layout(updown(activation))
        assert inferred is not None
        return inferred.layout.features[1].function.straight

    assert straight(jax.nn.relu)
    assert straight(jax.nn.leaky_relu)
    assert straight(lambda v: jnp.clip(v, -1, 1))
    assert straight(lambda v: 2 * jnp.abs(v - 1) / 3)
    assert not straight(jnp.tanh)
    assert not straight(lambda v: v * jnp.maximum(v, 0))
    assert not straight(lambda v: 1 / v)
    assert not straight(lambda v: jnp.where(jnp.sin(v) > 0, v, 0))
    assert not straight(lambda v: jnp.where(v > 0, v, v * v))
    assert not straight(lambda v: jnp.where(v > 0, v * v, v))


def square(function):
    return sx.FunctionField(function, state=sx.shape(2), theta={"A": sx.shape(2, 2)})


NOT_INFERABLE = {
    "rotor": Rotor,
    "gate": lambda: square(lambda z, th: th["A"][0] * z),
    "drift": lambda: square(lambda z, th: th["A"] @ z - z),
    "skew": lambda: square(lambda z, th: (th["A"] - th["A"].T) @ z),
    "shared": lambda: square(lambda z, th: th["A"] @ z + th["A"] @ jnp.tanh(z)),
    "added": lambda: square(lambda z, th: th["A"] @ z + (th["A"] @ z)[::-1]),
    "scalar": lambda: square(lambda z, th: th["A"] @ z + th["A"][0, 0]),
    "level": lambda: sx.FunctionField(
        lambda z, th: th["A"] @ z + th["c"],
        state=sx.shape(2),
        theta={"A": sx.shape(2, 2), "c": sx.shape()},
    ),
    "mixed": lambda: square(lambda z, th: th["A"] @ (z * z[::-1])),
    "uneven": lambda: square(lambda z, th: th["A"] @ (z * jnp.array([1.0, 2.0]))),
    "turned": lambda: square(lambda z, th: (th["A"] @ z)[::-1] + jnp.flip(th["A"] @ z)),
    "still": lambda: square(lambda z, th: jnp.zeros(2)),
    "nonlinear": lambda: square(lambda z, th: jnp.tanh(th["A"] @ z)),
    "norm": lambda: square(lambda z, th: th["A"] @ (z / jnp.linalg.norm(z))),
}


@pytest.mark.parametrize("name", NOT_INFERABLE)
def test_what_is_not_made_of_blocks_is_left_alone(name):
    assert sx.extend.infer_layout(NOT_INFERABLE[name]()) is None


def system(field, rows=8, particles=3, penalty=sx.Quadratic()):
    ensemble = sx.Ensemble.draw(field, particles, key=KEY)
    return sx.Particles(field, ensemble, penalty=penalty).system(field, rows)


def test_layouts_are_inferred_by_default_and_the_cheaper_form_is_taken():
    def f(z, theta):
        return theta["A"] @ jnp.tanh(z)

    for size, form in ((6, "DenseSystem"), (300, "KernelSystem")):
        field = sx.FunctionField(f, state=sx.shape(size), theta={"A": sx.shape(size, size)})
        chosen = system(field)
        assert isinstance(chosen, InferredSystem)
        assert type(chosen.blocks).__name__ == form
    assert isinstance(system(Rotor()), LinearSystem)
    # Θ would be mostly zeros.
    sparse = sx.BlockSparse((2,) * 8)
    wrapped = sx.FunctionField(sparse.__call__, state=sparse.state, theta=sparse.theta)
    assert sx.extend.infer_layout(wrapped) is not None
    assert isinstance(system(wrapped), LinearSystem)


def test_fields_with_arrays_of_their_own_are_trained_with_them():
    """A table cannot hold what is trained, so such a field keeps the linear form."""

    class Scaled(sx.AbstractField):
        scale: jax.Array
        state = sx.shape(2)
        theta = sx.shape(2, 2)

        def __call__(self, z, theta):
            return theta @ (self.scale * z)

    control = sx.Particles.draw(Scaled(jnp.array(1.0)), 2, momentum=1.0, key=KEY)

    def value(field):
        return jnp.sum(sx.flow(field, control, jnp.ones((3, 2)), integrator=sx.Euler(2)) ** 2)

    field = Scaled(jnp.array(1.5))
    gradient = eqx.filter_grad(value)(field).scale
    nearby = [value(Scaled(jnp.array(1.5 + h))) for h in (1e-6, -1e-6)]
    np.testing.assert_allclose(gradient, (nearby[0] - nearby[1]) / 2e-6, rtol=1e-6)


@pytest.mark.parametrize("field", [Pendulum(), one_matrix()], ids=["pendulum", "one-matrix"])
def test_weights_along_depth_are_those_of_the_field_itself(field):
    """Baked, that is without rows of data, and with them."""
    x = states(field, 5)
    control = sx.Particles.draw(field, 3, momentum=0.5, key=KEY)
    net = sx.Net(field, control, integrator=sx.Euler(2), key=KEY)
    assert_close(sx.bake(net)(x), net(x), rtol=1e-12)
