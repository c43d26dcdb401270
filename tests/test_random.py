"""Random keys and orders on the host are those of JAX, bit for bit."""

import jax
import numpy as np
import pytest

from shootax import _random as random

SEEDS = (0, 1, 12345, 2**32 - 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_keys_are_those_of_jax(seed):
    key, data = jax.random.key(seed), random.key_data(seed)
    assert np.array_equal(jax.random.key_data(key), data)
    for number in (1, 2, 5):
        want = jax.random.key_data(jax.random.split(key, number))
        assert np.array_equal(want, random.split(data, number))


# Beyond 1625 samples JAX sorts twice.
@pytest.mark.parametrize("samples", [1, 2, 37, 1625, 1626, 3000])
def test_orders_are_those_of_jax(samples):
    for seed in SEEDS:
        want = np.asarray(jax.random.permutation(jax.random.key(seed), samples))
        assert np.array_equal(want, random.permutation(random.key_data(seed), samples))


def test_many_orders_at_once():
    keys = random.split(random.key_data(3), 6)
    one_by_one = [random.permutation(key, 77) for key in keys]
    assert np.array_equal(np.stack(one_by_one), random.permutation(keys, 77))


@pytest.mark.parametrize(
    "key",
    [
        jax.random.key(4),
        jax.random.PRNGKey(4),
        jax.random.key(4, impl="rbg"),
    ],
    ids=["typed", "legacy", "another generator"],
)
def test_keys_are_split_as_jax_does(key):
    want, got = jax.random.split(key, 3), random.split_key(key, 3)
    for one, other in zip(want, got, strict=True):
        assert one.dtype == other.dtype
        assert bool((one == other).all())
    drawn = [jax.random.normal(each, (2,)) for each in got]
    assert np.array_equal(drawn[1], jax.random.normal(want[1], (2,)))


def test_keys_are_split_inside_programs():
    split = jax.jit(lambda key: jax.random.key_data(random.split_key(key, 2)[1]))
    key = jax.random.key(9)
    assert np.array_equal(split(key), jax.random.key_data(jax.random.split(key)[1]))
