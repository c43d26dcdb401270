"""The training step for loops of one's own."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import shootax as sx
from shootax._train.compiler_options import SMALL, compiler_options

X = jnp.linspace(-1, 1, 6)[:, None]


def objective(net, x, y):
    return 100 * jnp.mean((net(x) - y) ** 2) + sx.penalty(net)


def small_net() -> sx.Net:
    return sx.Net(sx.UpDown(dim=1, inflation=2), particles=3, key=jax.random.key(0))


@pytest.mark.usefixtures("standard_promotion")
def test_steps_are_those_of_adam():
    net = small_net()
    step = sx.TrainingStep(net, objective, optimizer=sx.Optimizer(0.03, schedule=sx.Constant()))
    state = step.init()
    parameters, static = eqx.partition(net, eqx.is_inexact_array)
    adam = optax.adam(0.03)
    moments = adam.init(parameters)

    @jax.jit
    def expected(parameters, moments):
        def value(p):
            return objective(eqx.combine(p, static), X, X**2)

        loss, gradient = jax.value_and_grad(value)(parameters)
        updates, moments = adam.update(gradient, moments)
        return optax.apply_updates(parameters, updates), moments, loss

    for _ in range(4):
        parameters, moments, want = expected(parameters, moments)
        state, got = step(state, X, X**2)
        np.testing.assert_allclose(got, want, rtol=1e-12)
    trained = eqx.filter(step.model(state), eqx.is_inexact_array)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9), trained, parameters)


def test_a_model_without_parameters_is_refused():
    with pytest.raises(ValueError, match="no parameters to train"):
        sx.TrainingStep(sx.nn.IdentityLift(), objective)


@pytest.mark.usefixtures("standard_promotion")
def test_steps_are_those_of_fit():
    """The same objective, optimiser and data, with all its options: the same parameters."""
    net = small_net()
    adam = sx.Optimizer(
        0.03,
        schedule=sx.Constant(),
        clip=1.0,
        ema=0.9,
        weight_decay={"lift.weight": 0.1},
        freeze={"positions": 2},
        lr_scale={"momenta": 0.5},
    )
    step = sx.TrainingStep(net, objective, optimizer=adam)
    state = step.init()
    for _ in range(4):
        state, _ = step(state, X, X**2)
    fitted = sx.fit(net, X, X**2, epochs=4, optimizer=adam).net
    pairs = zip(jax.tree.leaves(fitted), jax.tree.leaves(step.model(state)), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_a_schedule_needs_a_known_length():
    with pytest.raises(ValueError, match=r"does not know how many steps.*Constant"):
        sx.TrainingStep(small_net(), objective, optimizer=sx.Optimizer())
    with pytest.raises(ValueError, match=r"write optimizer=sx.Optimizer\(0.1\)"):
        sx.TrainingStep(small_net(), objective, optimizer=0.1)


def test_small_programs_have_options_that_the_compiler_accepts():
    assert compiler_options(SMALL + 1) is None
    options = dict(compiler_options(SMALL) or ())  # older versions of JAX know none of them
    assert jax.jit(lambda x: x + 1, compiler_options=options)(jnp.ones(())) == 2


def test_programs_for_other_devices_have_no_options_for_the_cpu(monkeypatch):
    assert compiler_options(10, jnp.ones(2)) is not None
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert compiler_options(10) is None
    assert compiler_options(10, jnp.ones(2)) is None
