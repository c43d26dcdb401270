"""Many nets at once are the same nets one by one."""

import inspect

import jax
import numpy as np
import pytest

import shootax as sx
from shootax._train import FitOptions

X = np.linspace(-1, 1, 23)[:, None]
OPTIMIZER = sx.Optimizer(clip=5.0, freeze={"positions": 2})
OPTIONS = {"epochs": 4, "batch_size": 10, "optimizer": OPTIMIZER}


@pytest.fixture(autouse=True)
def _standard_promotion():
    with jax.numpy_dtype_promotion("standard"):  # Optax mixes types
        yield


def make(seed):
    field = sx.UpDown(dim=1, inflation=3, activation="tanh")
    return sx.Net(field, particles=3, key=jax.random.key(seed))


def test_together_equals_one_by_one():
    nets, seeds = [make(0), make(1), make(2)], [5, 6, 7]
    together = sx.fit_many(nets, X, X**2, seeds=seeds, together=True, **OPTIONS)
    apart = sx.fit_many(nets, X, X**2, seeds=seeds, together=False, **OPTIONS)
    single = [sx.fit(net, X, X**2, seed=s, **OPTIONS) for net, s in zip(nets, seeds, strict=True)]
    for a, b, c in zip(together, apart, single, strict=True):
        np.testing.assert_allclose(a.history["objective"], b.history["objective"], rtol=1e-10)
        assert np.array_equal(b.history["objective"], c.history["objective"])
        np.testing.assert_allclose(a.net(X), c.net(X), rtol=1e-10)


def test_one_that_diverges_does_not_stop_the_others():
    import equinox as eqx

    wild = eqx.tree_at(lambda n: n.control.ensemble.p, make(1), replace_fn=lambda p: 1e200 * p)
    good, bad = sx.fit_many([make(0), wild], X, X**2, together=True, **OPTIONS)
    assert isinstance(bad, sx.DivergedError)
    assert "epoch 1" in str(bad)
    assert len(bad.result.history["objective"]) == 0
    assert np.array_equal(bad.result.net.control.ensemble.p, wild.control.ensemble.p)
    np.testing.assert_allclose(
        good.history["objective"], sx.fit(make(0), X, X**2, **OPTIONS).history["objective"]
    )


def test_small_nets_train_together_and_large_ones_apart():
    from shootax._train.fit_many import pays_together

    assert pays_together(make(0), 50)
    large = sx.Net(sx.UpDown(dim=20, inflation=10), particles=100, key=jax.random.key(0))
    assert not pays_together(large, 25)
    middling = sx.Net(sx.UpDown(dim=1, inflation=64), particles=15, key=jax.random.key(0))
    assert not pays_together(middling, 50)  # on the CPU, its loops are single functions


def test_each_net_needs_its_seed():
    with pytest.raises(ValueError, match="one seed for each net; got 1 for 2"):
        sx.fit_many([make(0), make(1)], X, X**2, seeds=[0])
    with pytest.raises(ValueError, match="no nets"):
        sx.fit_many([], X, X**2)
    with pytest.raises(ValueError, match="list of models, got a Net"):
        sx.fit_many(make(0), X, X**2)
    with pytest.raises(TypeError, match="no option 'keep_best'"):
        sx.fit_many([make(0)], X, X**2, keep_best=True)
    with pytest.raises(ValueError, match="Each of the seeds must be a whole number"):
        sx.fit_many([make(0)], X, X**2, seeds=[0.5])


def test_the_seed_is_that_of_the_first_net_and_of_the_split():
    options = {**OPTIONS, "epochs": 2, "validation": 0.3}
    many = sx.fit_many([make(0), make(1)], X, X**2, seed=3, together=False, **options)
    first = sx.fit(make(0), X, X**2, seed=3, **options)
    for name, column in first.history.items():
        np.testing.assert_array_equal(many[0].history[name], column)
    given = sx.fit_many(
        [make(0), make(1)], X, X**2, seed=3, seeds=[3, 4], together=False, **options
    )
    np.testing.assert_array_equal(many[1].history["data"], given[1].history["data"])


def test_nets_of_different_kinds_are_refused():
    other = sx.Net(sx.UpDown(dim=1, inflation=3), particles=3, key=jax.random.key(1))  # relu
    with pytest.raises(ValueError, match="number 1 has other shapes or options"):
        sx.fit_many([make(0), other], X, X**2, **OPTIONS)


def test_the_shared_options_are_those_of_fit():
    own = {"net", "x", "y", "seed", "checkpoint", "progress", "steps_per_epoch"}
    assert set(FitOptions.__annotations__) == set(inspect.signature(sx.fit).parameters) - own
