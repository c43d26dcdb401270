"""Several starts find the highest of many local maxima more often than one does."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax._hamiltonian import hamiltonian

FIELD = sx.SingleHiddenLayer(dim=2, width=1)
PENALTY = sx.Quadratic()
CASES = 40


def problems():
    keys = jax.random.split(jax.random.key(4))
    q, p = (jax.random.normal(key, (CASES, 10, 2)) for key in keys)
    return 2 * q, p


def heights(maximiser):
    """The largest H that the first search finds, in every case."""

    def one(q, p):
        theta = maximiser.search(FIELD, PENALTY, q, p)
        return hamiltonian(FIELD, PENALTY, q, p, theta)

    return np.asarray(jax.jit(jax.vmap(one))(*problems()))


@pytest.mark.slow
def test_the_global_maximum_is_found_more_often():
    one, some, many = (heights(sx.maximisers.PerNeuron(starts=n)) for n in (1, 16, 300))
    # Starts of the shorter list are not among those of the longer: either may find more.
    best = np.maximum(np.maximum(one, some), many)
    found = [np.mean(h > best - 1e-6 * (1 + np.abs(best))) for h in (one, some)]
    assert found[0] < 0.7  # or there is nothing to gain here
    assert found[1] >= 0.95
    np.testing.assert_array_less(one - 1e-9, some)


@pytest.mark.slow
def test_what_is_said_about_the_starts():
    """Which one was taken, for each neuron, and how many maxima there are, against a plain search."""
    field = sx.SingleHiddenLayer(dim=2, width=3)
    q, p = (a[1] for a in problems())
    found = sx.maximisers.maximise(
        field, PENALTY, q, p, maximiser=sx.maximisers.PerNeuron(starts=8)
    )
    assert bool(found.converged)
    assert found.start.shape == (3,)
    assert 0 <= int(found.start.min()) <= int(found.start.max()) < 8
    again = sx.maximisers.maximise(
        field, PENALTY, q, p, maximiser=sx.maximisers.PerNeuron(starts=8)
    )
    np.testing.assert_array_equal(found.start, again.start)
    alone = jnp.stack(
        [heights_of_one(field, q, p, seed) for seed in range(40)]
    )  # maxima of 40 other starts
    levels = np.unique(np.round(np.asarray(alone), 5))
    many = sx.maximisers.maximise(
        field, PENALTY, q, p, maximiser=sx.maximisers.PerNeuron(starts=100)
    )
    assert int(many.maxima) >= len(levels) > 1
    default = sx.maximisers.maximise(field, PENALTY, q, p)
    assert default.start is None
    assert default.maxima is None


def heights_of_one(field, q, p, seed):
    """What a single neuron adds to H at the maximum from one seed."""
    theta = sx.maximisers.PerNeuron(seed=seed).search(field, PENALTY, q, p)
    neuron = {**theta, "theta1": theta["theta1"][:, :1], "theta2": theta["theta2"][:1]}
    neuron["b2"], neuron["b1"] = theta["b2"][:1], jnp.zeros(2)
    return hamiltonian(sx.SingleHiddenLayer(dim=2, width=1), PENALTY, q, p, neuron)


def test_the_number_of_starts_is_checked():
    with pytest.raises(ValueError, match="starts must be a whole number of at least 1, got 0"):
        sx.maximisers.PerNeuron(starts=0)
