"""Fields against their formulae in NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.special import erf, expit

import shootax as sx
from cases import KEY, Pendulum, Rotor, assert_close, some_theta
from shootax.extend import is_linear

NUMPY = {
    "identity": lambda x: x,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "softplus": lambda x: np.log1p(np.exp(x)),
    "sigmoid": expit,
    "gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
}
RNG = np.random.default_rng(0)


def numpy_theta(field):
    return {name: np.asarray(value) for name, value in some_theta(field).items()}


@pytest.mark.parametrize("activation", NUMPY)
def test_affine_formula(activation):
    field = sx.Affine(3, activation=activation)
    theta, z = numpy_theta(field), RNG.normal(size=3)
    expected = theta["A"] @ NUMPY[activation](z) + theta["b"]
    np.testing.assert_allclose(field(jnp.asarray(z), some_theta(field)), expected, rtol=1e-12)


@pytest.mark.parametrize("activation", NUMPY)
@pytest.mark.parametrize("theta3", [True, False])
def test_updown_formula(activation, theta3):
    field = sx.UpDown(2, 3, activation=activation, theta3=theta3)
    theta, z = numpy_theta(field), RNG.normal(size=8)
    x, v = z[:2], z[2:]
    s = NUMPY[activation](v)
    dx = theta["theta1"] @ s + theta["b1"]
    dv = theta["theta2"] @ x + theta["b2"] + (theta["theta3"] @ s if theta3 else 0)
    got = field(jnp.asarray(z), some_theta(field))
    np.testing.assert_allclose(got, np.concatenate([dx, dv]), rtol=1e-12)


def test_a_user_s_activation():
    field = sx.Affine(3, activation=lambda x: jnp.sin(x) ** 2)
    theta, z = numpy_theta(field), RNG.normal(size=3)
    expected = theta["A"] @ np.sin(z) ** 2 + theta["b"]
    np.testing.assert_allclose(field(jnp.asarray(z), some_theta(field)), expected, rtol=1e-12)
    assert sx.Net(field, particles=2, key=KEY)(jnp.ones((4, 3))).shape == (4, 3)


def test_shapes_of_theta():
    shapes = {name: leaf.shape for name, leaf in sx.UpDown(2, 3).theta.items()}
    assert shapes == {
        "theta1": (2, 6),
        "b1": (2,),
        "theta2": (6, 2),
        "b2": (6,),
        "theta3": (6, 6),
    }
    assert "theta3" not in sx.UpDown(2, 3, theta3=False).theta
    assert {k: v.shape for k, v in sx.Affine(3).theta.items()} == {"A": (3, 3), "b": (3,)}


def test_sizes():
    field = sx.UpDown(2, 3)
    assert (field.dim, field.hidden_size, field.state.shape) == (2, 6, (8,))
    assert (sx.Affine(3).hidden_size, sx.Affine(3).state.shape) == (0, (3,))
    assert sx.UpDown(5).inflation == 16


def test_second_order_is_updown_with_inflation_one():
    """x' = θ1 σ(v) + b1, v' = θ2 x + b2: the weights of an oscillator make one."""
    field = sx.UpDown(1, 1, activation="identity", theta3=False)
    one = jnp.ones((1, 1))
    theta = {"theta1": one, "b1": jnp.zeros(1), "theta2": -one, "b2": jnp.zeros(1)}
    control = sx.FunctionControl(field, lambda t: theta, T=np.pi / 2)
    end = sx.flow(field, control, jnp.array([[1.0, 0.0]]), integrator=sx.RK4(steps=100))
    np.testing.assert_allclose(end, [[0.0, -1.0]], atol=1e-8)


BLOCK_FIELDS = [
    sx.Affine(3, activation="tanh"),
    sx.UpDown(2, 3, activation="tanh"),
    sx.UpDown(1, 4, activation="softplus", theta3=False),
    sx.UpDown(2, 1, activation="gelu", theta3=False),
]


@pytest.mark.parametrize("field", BLOCK_FIELDS, ids=lambda f: f"{type(f).__name__}-{f.hidden_size}")
class TestBlocks:
    def test_unpack_undoes_pack(self, field):
        theta = some_theta(field)
        assert_close(field.unpack(field.pack(theta)), theta, rtol=0, atol=0)

    def test_pack_undoes_unpack_where_there_are_blocks(self, field):
        ones = field.pack(jax.tree.map(jnp.ones_like, some_theta(field)))
        matrix = jnp.asarray(RNG.normal(size=ones.shape))
        np.testing.assert_array_equal(field.pack(field.unpack(matrix)), matrix * ones)
        assert int(ones.sum()) == sum(leaf.size for leaf in field.theta.values())

    def test_packed_product_is_the_field(self, field):
        theta = some_theta(field)
        z = jnp.asarray(RNG.normal(size=(5, field.state.shape[0])))
        product = field.features(z) @ field.pack(theta).T
        np.testing.assert_allclose(product, jax.vmap(field, (0, None))(z, theta), rtol=1e-12)

    def test_layout_covers_state_and_features_without_gaps(self, field):
        layout = field.layout
        for slices, total in (
            (layout.part_slices(), layout.state_size),
            (layout.feature_slices(), field.features(jnp.zeros((1, layout.state_size))).shape[1]),
        ):
            covered = np.concatenate([np.arange(s.start, s.stop) for s in slices.values()])
            np.testing.assert_array_equal(covered, np.arange(total))

    def test_fields_are_equal_and_hashed_by_their_values(self, field):
        assert hash(field.layout) == hash(field.layout)
        assert field.layout == field.layout


def test_linearity_is_noticed():
    class Cubed(sx.AbstractField):
        state = sx.shape(2)
        theta = sx.shape(2)

        def __call__(self, z, theta):
            return z + theta**3

    class Shifted(sx.AbstractField):
        state = sx.shape(2)
        theta = sx.shape(2)

        def __call__(self, z, theta):
            return z + theta

    assert is_linear(Rotor())
    assert is_linear(Pendulum())
    assert is_linear(sx.UpDown(2, 3))
    assert not is_linear(Cubed())
    assert not is_linear(Shifted())  # affine in θ, not linear
