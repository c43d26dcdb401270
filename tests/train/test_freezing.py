"""Parts that are held still are, and only for as long as was said."""

import jax
import numpy as np
import pytest

import shootax as sx
from cases import KEY, assert_same
from shootax._train.parameter_groups import thaw_epochs

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, particles=3, integrator=sx.Euler(steps=2), key=KEY)
X = np.linspace(-1, 1, 8)[:, None]


def train(epochs, freeze, net=NET):
    optimizer = sx.Optimizer(schedule=sx.Constant(), freeze=freeze)
    return sx.fit(net, X, X**2, epochs=epochs, batch_size=4, optimizer=optimizer).net


def test_for_the_first_epochs_and_no_longer():
    held, free = train(2, {"positions": 2}), train(3, {"positions": 2})
    assert_same(held.control.ensemble.q, NET.control.ensemble.q)
    assert not np.allclose(free.control.ensemble.q, NET.control.ensemble.q, atol=1e-6)
    assert not np.allclose(held.control.ensemble.p, NET.control.ensemble.p, atol=1e-6)
    assert not np.allclose(held.lift.weight, NET.lift.weight, atol=1e-6)


def test_for_ever():
    trained = train(3, {"momenta": None, "lift": None})
    assert_same(trained.control.ensemble.p, NET.control.ensemble.p)
    assert_same(trained.lift, NET.lift)
    assert not np.allclose(trained.control.ensemble.q, NET.control.ensemble.q, atol=1e-6)


def test_everything_frozen_leaves_the_net_as_it_was():
    assert_same(train(2, {"control": None, "lift": None}), NET)


def paths(freeze):
    thaw = thaw_epochs(NET, freeze)
    return {
        jax.tree_util.keystr(path, simple=True, separator="."): epoch
        for path, epoch in jax.tree.leaves_with_path(thaw)
    }


def test_names():
    names = ["control.ensemble.p", "control.ensemble.q", "lift.bias", "lift.weight"]
    assert sorted(paths(None)) == names
    assert set(paths(None).values()) == {0.0}
    for name, hit in {
        "positions": {"control.ensemble.q"},
        "momenta": {"control.ensemble.p"},
        "ensemble": {"control.ensemble.p", "control.ensemble.q"},
        "control.ensemble.q": {"control.ensemble.q"},
        "lift": {"lift.bias", "lift.weight"},
        "bias": {"lift.bias"},
    }.items():
        assert {path for path, epoch in paths({name: 4}).items() if epoch == 4.0} == hit


def test_the_longer_of_two_holds():
    assert paths({"lift": 3, "bias": 5})["lift.bias"] == 5.0
    assert paths({"lift": None, "bias": 5})["lift.bias"] == float("inf")


def test_part_of_a_name_is_not_a_name():
    with pytest.raises(ValueError, match="nothing called 'wei' to freeze"):
        paths({"wei": 1})
