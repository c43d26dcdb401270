"""Fields of one's own: wrapped, checked, and found to be linear or not."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import shootax as sx


def swirl(z, theta):
    turned = jnp.stack([-z["x"][1], z["x"][0]])
    return {"x": theta["turn"] * turned + theta["push"], "age": theta["speed"] * jnp.tanh(z["age"])}


STATE = {"x": sx.shape(2), "age": sx.shape()}
THETA = {"turn": 1.0, "push": jnp.zeros(2), "speed": sx.shape()}


def test_a_plain_function_of_any_pytree_is_a_field():
    field = sx.FunctionField(swirl, state=STATE, theta=THETA)
    assert sx.linearity(field) == "linear"
    control = sx.Particles.draw(field, 3, momentum=0.5, key=jax.random.key(0))
    q, p = control.ensemble.q, control.ensemble.p
    theta = control.theta_at_start(field)
    turned = jnp.stack([-q["x"][:, 1], q["x"][:, 0]], axis=1)
    assert jnp.allclose(theta["turn"], jnp.sum(turned * p["x"]))
    assert jnp.allclose(theta["push"], jnp.sum(p["x"], axis=0))
    assert jnp.allclose(theta["speed"], jnp.sum(jnp.tanh(q["age"]) * p["age"]))
    z = {"x": jnp.ones((4, 2)), "age": jnp.ones(4)}
    moved = sx.flow(field, control, z, integrator=sx.Euler(3))
    assert jax.tree.map(jnp.shape, moved) == jax.tree.map(jnp.shape, z)


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda z, th: th["a"] * z, "linear"),
        (lambda z, th: th["a"] * z - 0.3 * z, "affine"),
        (lambda z, th: jnp.tanh(th["a"] * z), "nonlinear"),
        (lambda z, th: th["a"] * jnp.abs(th["a"]) * z, "nonlinear"),
        (lambda z, th: jnp.maximum(th["a"], 0) * z, "nonlinear"),
    ],
)
def test_linearity_is_found_out(function, found):
    field = sx.FunctionField(function, state=sx.shape(2), theta={"a": sx.shape(2)})
    assert sx.linearity(field) == found
    assert sx.extend.is_linear(field) == (found == "linear")
    if found == "linear":
        sx.extend.assert_linear(field)
    else:
        with pytest.raises(ValueError, match="is not linear in θ"):
            sx.extend.assert_linear(field)


def test_a_drift_is_part_of_the_shooting_equations():
    """Affine fields: the closed form is the maximum that Newton's method finds."""
    field = sx.FunctionField(
        lambda z, th: th["A"] @ jnp.tanh(z) - 0.5 * z,
        state=sx.shape(2),
        theta={"A": sx.shape(2, 2)},
    )
    drawn = sx.Ensemble.draw(field, 3, momentum=1.0, key=jax.random.key(0))
    closed = sx.maximisers.maximise(field, sx.Quadratic(), drawn.q, drawn.p)
    solved = sx.maximisers.maximise(
        field, sx.Quadratic(), drawn.q, drawn.p, maximiser=sx.maximisers.Newton()
    )
    assert jnp.allclose(closed.theta["A"], solved.theta["A"], atol=1e-10)
    net = sx.Net(field, sx.Particles(field, drawn), integrator=sx.RK4(20), key=jax.random.key(1))
    assert float(sx.hamiltonian_drift(net)) < 1e-5


def test_a_penalty_of_ones_own():
    class Quartic(sx.AbstractPenalty):
        def __call__(self, theta):
            return sum(jnp.sum(w**2) / 2 + jnp.sum(w**4) / 4 for w in theta.values())

    field = sx.Affine(dim=2, activation="tanh")
    drawn = sx.Ensemble.draw(field, 3, momentum=1.0, key=jax.random.key(0))
    theta = sx.maximisers.maximise(field, Quartic(), drawn.q, drawn.p).theta
    gradient = drawn.p.T @ jnp.tanh(drawn.q)
    assert jnp.allclose(theta["A"] + theta["A"] ** 3, gradient, atol=1e-8)


def test_wrong_structure_is_named():
    with pytest.raises(ValueError, match="must return a velocity shaped like its state"):
        sx.FunctionField(lambda z, th: th * z[:1], state=sx.shape(2), theta=sx.shape())

    class Wrong(sx.AbstractField):
        state = sx.shape(2)
        theta = sx.shape(2)

        def __call__(self, z, theta):
            return (theta * z, z)

    with pytest.raises(ValueError, match="Wrong must return a velocity"):
        sx.Static(Wrong(), key=jax.random.key(0))


def test_the_training_gradient_of_a_custom_field_is_that_of_finite_differences():
    field = sx.FunctionField(swirl, state=STATE, theta=THETA)
    control = sx.Particles.draw(field, 2, momentum=0.5, key=jax.random.key(0))
    z = {"x": jnp.ones((2, 2)), "age": jnp.ones(2)}

    @eqx.filter_jit
    def loss(s):
        moved = eqx.tree_at(lambda c: c.ensemble.p["x"], control, replace_fn=lambda p: p + s)
        out = sx.flow(field, moved, z, integrator=sx.Heun(3))
        return jnp.sum(out["x"] ** 2) + jnp.sum(out["age"])

    h = 1e-5
    slope = (loss(jnp.array(h)) - loss(jnp.array(-h))) / (2 * h)
    assert jnp.allclose(jax.grad(loss)(jnp.array(0.0)), slope, rtol=1e-7)


@pytest.mark.parametrize(
    ("function", "found"),
    [
        (lambda z, th: jnp.tanh(th["a"]) * jnp.sqrt(z), "nonlinear"),
        (lambda z, th: th["a"] * jnp.sqrt(z), "linear"),
        (lambda z, th: th["a"] * jnp.log(z) + jnp.arcsin(z), "affine"),
        (lambda z, th: jnp.sqrt(th["a"]) * z, "nonlinear"),
        (lambda z, th: jnp.log(th["a"]) * z, "nonlinear"),
        (lambda z, th: th["a"] * jnp.stack([jnp.arccosh(z[0]), jnp.arcsin(z[1])]), "linear"),
        (lambda z, th: th["a"] * jnp.arccosh(z) * jnp.arcsin(z - 1), "linear"),
    ],
)
def test_fields_that_are_not_defined_everywhere(function, found):
    """NaN says nothing about linearity: they are tried where they are finite."""
    field = sx.FunctionField(function, state=sx.shape(2), theta={"a": sx.shape(2)})
    assert sx.linearity(field) == found


def test_a_long_state_of_positive_numbers():
    """Normal numbers are never all positive there."""
    theta = {"A": sx.shape(40, 40)}
    for function, found in (
        (lambda z, th: th["A"] @ jnp.sqrt(z), "linear"),
        (lambda z, th: jnp.tanh(th["A"]) @ jnp.sqrt(z), "nonlinear"),
    ):
        assert sx.linearity(sx.FunctionField(function, state=sx.shape(40), theta=theta)) == found


def test_a_field_that_is_finite_nowhere_is_not_called_linear(caplog):
    field = sx.FunctionField(
        lambda z, th: th["a"] * jnp.sqrt(-1 - z**2), state=sx.shape(2), theta={"a": sx.shape(2)}
    )
    assert sx.linearity(field) == "nonlinear"
    assert "NaN or infinite at all of the random points" in caplog.text
    with pytest.raises(ValueError, match="could not be shown to be linear"):
        sx.extend.assert_linear(field)
    ensemble = sx.Ensemble.draw(field, 2, key=jax.random.key(0))
    assert isinstance(sx.Particles(field, ensemble).maximiser, sx.maximisers.Newton)
