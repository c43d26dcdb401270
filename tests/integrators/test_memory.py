"""What the gradient modes keep, read off the compiled programs."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import shootax as sx

STEPS = (100, 10_000)


def temporary_bytes(gradient, steps: int) -> int:
    field = sx.UpDown(dim=1, inflation=4, activation="tanh")
    net = sx.Net(field, particles=3, integrator=sx.RK4(steps, gradient), key=jax.random.key(0))
    parameters, static = eqx.partition(net, eqx.is_inexact_array)
    x = jnp.ones((8, 1))

    def loss(parameters):
        return jnp.sum(eqx.combine(parameters, static)(x) ** 2)

    compiled = jax.jit(jax.grad(loss)).lower(parameters).compile()
    return compiled.memory_analysis().temp_size_in_bytes


@pytest.fixture(scope="module")
def memory():
    modes = {"direct": sx.Direct(), "checkpointed": sx.Checkpointed(), "reversed": sx.Reversed()}
    return {name: [temporary_bytes(mode, steps) for steps in STEPS] for name, mode in modes.items()}


@pytest.mark.slow
@pytest.mark.slow
def test_direct_grows_with_depth(memory):
    assert 80 < memory["direct"][1] / memory["direct"][0] < 120, memory


@pytest.mark.slow
def test_checkpointed_grows_with_the_square_root_of_depth(memory):
    growth = memory["checkpointed"][1] / memory["checkpointed"][0]
    assert growth < 15, memory  # ten for a hundredfold depth, against a hundred
    assert memory["checkpointed"][1] < memory["direct"][1] / 20, memory


@pytest.mark.slow
def test_reversed_is_flat_in_depth(memory):
    assert memory["reversed"][1] < 1.1 * memory["reversed"][0], memory
