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
    step = sx.TrainingStep(net, objective, learning_rate=0.03)
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


def test_small_programs_have_options_that_the_compiler_accepts():
    assert compiler_options(SMALL + 1) is None
    options = compiler_options(SMALL)
    assert jax.jit(lambda x: x + 1, compiler_options=options)(jnp.ones(())) == 2
