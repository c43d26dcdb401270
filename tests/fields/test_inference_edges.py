"""What layout inference has to respect: constants, places, precisions and custom derivatives."""

import logging

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from forms import assert_forms_agree, points
from random_fields import crossed, damped, first_for_all, half, shorter, single

import shootax as sx
from cases import spd
from shootax._fields import inference, tracing
from shootax._fields.expressions import Argument
from shootax._systems import AutomaticSystem, ParticleState, shooting_system


def field_of(function, size=2, **shapes):
    theta = {name: sx.shape(*shape) for name, shape in shapes.items()}
    return sx.FunctionField(function, state=sx.shape(size), theta=theta)


def with_ones(z, value=1.0):
    return jnp.concatenate([z, jnp.full(1, value)])


CONSTANTS = {
    "two": (lambda z, th: th["A"] @ with_ones(z[:1], 2.0), 2, (2, 2)),
    "inside": (lambda z, th: th["A"] @ jnp.tanh(with_ones(z)), 2, (2, 3)),
    "inside, long": (lambda z, th: th["A"] @ jnp.tanh(with_ones(z)), 39, (39, 40)),
    "negative": (lambda z, th: jnp.sin(with_ones(z, -0.7)) @ th["A"], 2, (3, 2)),
    "computed": (lambda z, th: th["A"] @ (with_ones(z, 3.0) ** 2 / 2 - 1), 2, (2, 3)),
}


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_feature_is_a_bias_times_that_constant(name):
    function, size, shape = CONSTANTS[name]
    field = field_of(function, size, A=shape)
    inferred = sx.extend.infer_layout(field)
    assert inferred is not None
    assert sum(feature.part is None for feature in inferred.layout.features) == 1
    forms = ("auto", "dense", "kernel")
    assert_forms_agree(field, forms, sx.Quadratic(A=3.0), *points(size))


def test_a_matrix_weighs_a_scaled_bias():
    field = field_of(
        lambda z, th: th["A"] @ z + th["b"][:, None] @ jnp.full(1, -3.0), A=(2, 2), b=(2,)
    )
    assert sx.extend.infer_layout(field) is not None
    penalty = sx.Quadratic(A=spd(2), b=spd(2, 1))
    assert_forms_agree(field, ("auto", "dense", "kernel"), penalty, *points(2))


@pytest.mark.parametrize("value", [1e-9, 1e9, np.inf])
def test_constants_out_of_range_are_left_alone(value):
    field = field_of(lambda z, th: th["A"] @ with_ones(z, value), A=(2, 3))
    assert sx.extend.infer_layout(field) is None


@jax.custom_jvp
def spread(s):
    return jnp.broadcast_to(jnp.tanh(s), (3,))


@spread.defjvp
def _(primals, tangents):
    (s,), (t,) = primals, tangents
    return spread(s), jnp.broadcast_to((1 - jnp.tanh(s) ** 2) * t, (3,))


NOT_ELEMENTWISE = {
    "slice": (lambda z, th: th["A"] @ shorter(z), (3, 2)),
    "broadcast": (lambda z, th: th["A"] @ spread(z[:1]), (3, 3)),
    "first for all": (lambda z, th: th["A"] @ first_for_all(z), (3, 3)),
    "crossed derivative": (lambda z, th: th["A"] @ crossed(z), (3, 3)),
}


@pytest.mark.parametrize("name", NOT_ELEMENTWISE)
def test_custom_derivatives_that_are_not_elementwise_are_left_alone(name):
    function, shape = NOT_ELEMENTWISE[name]
    field = field_of(function, 3, A=shape)
    assert sx.extend.infer_layout(field) is None
    assert_forms_agree(field, ("auto", "linear"), sx.Quadratic(), *points(3))


@pytest.mark.parametrize("activation", [half, single], ids=["half", "single"])
def test_casts_are_respected(activation):
    field = field_of(lambda z, th: th["A"] @ activation(z), A=(2, 2))
    assert sx.extend.infer_layout(field) is None
    # The velocities are exact, their derivatives have the precision of the cast.
    assert_forms_agree(field, ("auto",), sx.Quadratic(), *points(2), tolerance=1e-2)
    product = field_of(
        lambda z, th: jnp.dot(th["A"], z, preferred_element_type=jnp.float32).astype(z.dtype),
        A=(2, 2),
    )
    assert sx.extend.infer_layout(product) is None


def test_truth_values_may_become_numbers():
    field = field_of(lambda z, th: th["A"] @ (z * (z > 0.1).astype(z.dtype)), A=(2, 2))
    assert sx.extend.infer_layout(field) is not None
    assert_forms_agree(field, ("auto", "dense", "kernel"), sx.Quadratic(), *points(2))


@pytest.mark.parametrize(
    "field",
    [field_of(lambda z, th: th["A"] @ damped(z), A=(2, 2)), sx.Affine(2, activation=damped)],
    ids=["function", "blocks"],
)
def test_a_field_with_a_custom_vjp_trains_by_default(field):
    q, p, z = points(2)
    assert_forms_agree(field, ("auto",), sx.Quadratic(), q, p, z)
    chosen = shooting_system(
        field,
        sx.Quadratic(),
        sx.maximisers.ClosedForm(),
        ParticleState(jnp.asarray(q), jnp.asarray(p)),
        2,
        "auto",
    )
    assert isinstance(chosen, AutomaticSystem)


def labels_of(function, size=6):
    state = tracing.Entries.of(np.arange(size, dtype=np.int32), Argument())
    program = jax.make_jaxpr(function)(jnp.zeros(size))
    (out,) = tracing.interpret(program, [state])
    assert isinstance(out, tracing.Entries)
    return out.labels.tolist()


@jax.custom_jvp
def saturating(s):
    return jnp.tanh(s)


@saturating.defjvp
def _(primals, tangents):
    (s,), (t,) = primals, tangents
    return saturating(s), (1 - jax.jit(saturating)(s) ** 2) * t


def test_a_slope_that_calls_its_function_ends():
    """The derivative of the derivative of … is followed as often as a training takes."""
    assert labels_of(saturating) == list(range(6))
    assert labels_of(jax.jit(saturating)) == list(range(6))


def test_slices_keep_their_strides():
    assert labels_of(lambda z: z[::2]) == [0, 2, 4]
    assert labels_of(lambda z: z[1::3]) == [1, 4]
    assert labels_of(lambda z: z[1:4]) == [1, 2, 3]
    assert labels_of(lambda z: z.reshape(2, 3)[:, ::2]) == [[0, 2], [3, 5]]


def test_operands_of_an_elementwise_operation_belong_to_one_entry():
    assert labels_of(lambda z: z * jnp.tanh(z) + 1) == list(range(6))
    for mixed in (lambda z: z * z[::-1], lambda z: z - jnp.roll(z, 1), lambda z: z * z[0]):
        with pytest.raises(tracing.NotInferable):
            labels_of(mixed)


def test_shared_and_strided_weights():
    shared = field_of(lambda z, th: th["A"][:2] @ z + th["A"][1:] @ jnp.tanh(z), A=(3, 2))
    assert sx.extend.infer_layout(shared) is None
    strided = field_of(lambda z, th: th["A"][1::2] @ z + th["A"][0], A=(4, 2))
    assert sx.extend.infer_layout(strided) is not None
    for field in (shared, strided):
        assert_forms_agree(field, ("auto", "linear"), sx.Quadratic(), *points(2))


def test_a_wrong_layout_is_noticed(monkeypatch, caplog):
    """A rule that ignores reversals would exchange entries; the comparison with `f` finds out."""
    function = lambda z, th: th["A"] @ jnp.tanh(jnp.flip(z[:2]))  # noqa: E731
    monkeypatch.setitem(tracing.MOVES, "rev", lambda params: lambda labels: labels)
    with caplog.at_level(logging.WARNING, logger="shootax"):
        assert sx.extend.infer_layout(field_of(function, A=(2, 2))) is None
    assert "does not reproduce it" in caplog.text


def test_a_wrong_derivative_is_noticed(monkeypatch):
    """Values alone would not show it."""
    plain = tracing.interpret
    monkeypatch.setattr(
        tracing, "interpret", lambda *given, **options: plain(*given, **{**options, "plain": True})
    )
    monkeypatch.setattr(inference, "interpret", lambda *given, **options: plain(*given, plain=True))
    from random_fields import straight_through

    field = field_of(lambda z, th: th["A"] @ straight_through(z), A=(2, 2))
    assert sx.extend.infer_layout(field) is None


def test_what_no_weight_multiplies_is_no_term(monkeypatch):
    """It is not dropped from a sum of terms, whatever a comparison of numbers says."""
    monkeypatch.setattr(inference, "agrees", lambda *given: True)
    assert sx.extend.infer_layout(field_of(lambda z, th: th["A"] @ z, A=(2, 2))) is not None
    for drift in (jnp.tanh, lambda z: jnp.full_like(z, 0.5)):
        field = field_of(lambda z, th, drift=drift: th["A"] @ z + drift(z), A=(2, 2))
        assert sx.extend.infer_layout(field) is None


def test_a_field_is_inferred_once(monkeypatch):
    calls = []
    monkeypatch.setattr(inference, "agrees", lambda *given: calls.append(given) or True)
    field = field_of(lambda z, th: th["A"] @ jnp.cos(z), A=(2, 2))
    assert sx.extend.infer_layout(field) is sx.extend.infer_layout(field)
    assert len(calls) == 1
    field_again = field_of(field.function, A=(2, 2))
    assert sx.extend.infer_layout(field_again) is sx.extend.infer_layout(field)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "activation", [jnp.sqrt, jnp.arcsin, jnp.log], ids=["sqrt", "arcsin", "log"]
)
def test_activations_that_are_not_defined_everywhere(activation):
    """The dense form applies them in place; what they make of other parts does not matter."""
    field = sx.UpDown(2, 2, activation=activation)
    rng = np.random.default_rng(0)
    q, z = (
        np.concatenate([rng.uniform(-3, -2, (n, 2)), rng.uniform(0.1, 0.9, (n, 4))], axis=1)
        for n in (3, 2)
    )
    p = rng.normal(size=q.shape)
    assert_forms_agree(field, ("dense", "kernel", "linear"), sx.Quadratic(), q, p, z)
