"""Optimisers of the user's own: used as they are, and refused where they would climb."""

import equinox as eqx
import jax
import numpy as np
import optax
import pytest

import shootax as sx
from cases import KEY
from shootax._errors import FileFormatError

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, sx.Static(FIELD, key=KEY), integrator=sx.Euler(steps=2), key=KEY)
X = np.linspace(-1, 1, 10)[:, None]
Y = X**2


def assert_alike(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9)


def test_a_complete_adam_is_the_adam_of_the_library():
    options = {"epochs": 3, "batch_size": 4}
    own = sx.fit(NET, X, Y, optimizer=optax.adam(0.02), **options)
    adam = sx.Optimizer(0.02, schedule=sx.Constant())
    ours = sx.fit(NET, X, Y, optimizer=adam, **options)
    assert_alike(own.net, ours.net)
    assert np.isnan(own.history["learning_rate"]).all()


def test_a_step_of_plain_descent_goes_down_and_has_its_own_size():
    """From the first objective to a lower one, by a hundredth of the gradient."""
    options = {"epochs": 1, "batch_size": 10, "data_strength": 1.0}
    fitted = sx.fit(NET, X, Y, optimizer=optax.sgd(0.01), **options)

    def objective(net):
        return np.mean((net(X) - Y) ** 2) + sx.penalty(net)

    gradient = eqx.filter_grad(lambda net: jax.numpy.mean((net(X) - Y) ** 2) + sx.penalty(net))(NET)
    assert_alike(fitted.net, eqx.apply_updates(NET, jax.tree.map(lambda g: -0.01 * g, gradient)))
    assert objective(fitted.net) < objective(NET)


@pytest.mark.parametrize(
    "optimizer",
    [
        optax.scale_by_adam(),
        optax.identity(),
        optax.chain(optax.scale_by_lion(), optax.scale(0.1)),
        optax.scale_by_schedule(optax.linear_schedule(0.0, 1.0, 10)),
    ],
    ids=["adam", "identity", "scaled", "warm-up"],
)
def test_updates_that_climb_are_refused(optimizer):
    with pytest.raises(ValueError, match=r"goes up the gradient.*sx.Optimizer\(1e-2, transform="):
        sx.fit(NET, X, Y, epochs=1, optimizer=optimizer)


@pytest.mark.parametrize(
    "optimizer",
    [
        optax.adamw(optax.warmup_cosine_decay_schedule(0.0, 0.01, 2, 10), weight_decay=0.1),
        optax.multi_transform(
            {"a": optax.sgd(0.01), "b": optax.set_to_zero()},
            lambda tree: jax.tree.map(lambda leaf: "a" if leaf.ndim > 1 else "b", tree),
        ),
    ],
    ids=["schedule", "parts"],
)
def test_optimizers_with_schedules_and_parts_train(optimizer):
    history = sx.fit(NET, X, Y, epochs=20, optimizer=optimizer).history["objective"]
    assert history[-1] < history[0]


def test_a_transform_takes_the_place_of_adam():
    options = {"epochs": 3, "batch_size": 4}
    rule = sx.Optimizer(0.02, schedule=sx.Constant(), transform=optax.scale_by_adam())
    own = sx.fit(NET, X, Y, optimizer=rule, **options)
    complete = sx.fit(NET, X, Y, optimizer=optax.adam(0.02), **options)
    assert_alike(own.net, complete.net)
    np.testing.assert_allclose(own.history["learning_rate"], 0.02, rtol=1e-6)


def test_a_complete_optimizer_is_no_transform():
    with pytest.raises(ValueError, match=r"transform goes down.*optimizer=optax.lion\(1e-3\)"):
        sx.fit(NET, X, Y, epochs=1, optimizer=sx.Optimizer(transform=optax.sgd(0.1)))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("adam", r"such as optax.adam\(1e-2\); got 'adam'"),
        (0.05, r"write optimizer=sx.Optimizer\(0.05\)"),
        (True, "got True"),
        (optax.adam, r"got adam itself. Call it: adam\(0.01\)"),
        (sx.Optimizer, "got Optimizer itself"),
        (optax.lbfgs(), "as a line search does"),
    ],
)
def test_what_is_no_optimizer_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        sx.fit(NET, X, Y, epochs=1, optimizer=given)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"learning_rate": "fast"}, "learning_rate must be a positive number, got 'fast'"),
        ({"learning_rate": -1.0}, "learning_rate must be a positive"),
        ({"schedule": "cosine"}, r"schedule must not be 'cosine': expected .* sx.Cosine"),
        ({"schedule": 0.1}, "schedule must not be 0.1"),
        ({"schedule": None}, "schedule must not be None"),
        ({"schedule": sx.Cosine}, r"the class Cosine; write Cosine\(\)"),
        ({"schedule": optax.constant_schedule(0.1)}, r"optimizer=optax.adam\(schedule\)"),
        ({"transform": "adam"}, "transform must be an Optax gradient transformation"),
        ({"clip": 0.0}, "clip must be a positive"),
        ({"clip": "no"}, "clip must be a positive number"),
        ({"weight_decay": 0.1}, r'as in weight_decay=\{"lift": 0.1\}; got 0.1'),
        ({"weight_decay": {"lift": -0.1}}, "weight decay of 'lift' must be"),
        ({"weight_decay": {"lift": "a"}}, "weight decay of 'lift' must be"),
        ({"ema": "much"}, "ema must be a finite number of at least 0, got 'much'"),
        ({"ema": 1.0}, "ema must be below 1"),
        ({"freeze": "lift"}, r'as in freeze=\{"lift": None\}; got \'lift\''),
        ({"freeze": {"lift": -3}}, r"freeze\['lift'\] must be a number of epochs"),
        ({"freeze": {"lift": 1.5}}, r"freeze\['lift'\] must be a number of epochs"),
        ({"freeze": {"lift": "2"}}, r"freeze\['lift'\] must be a number of epochs"),
        ({"lr_scale": 2.0}, "lr_scale must map names"),
        ({"lr_scale": {"lift": 0.0}}, "lr_scale of 'lift' must be a positive"),
    ],
)
def test_options_of_the_wrong_kind(options, message):
    with pytest.raises(ValueError, match=message):
        sx.Optimizer(**options)


def test_a_checkpoint_knows_the_optimizer(tmp_path):
    path = tmp_path / "state.safetensors"
    sx.fit(NET, X, Y, epochs=1, optimizer=optax.adam(0.01), checkpoint=path)
    sx.fit(NET, X, Y, epochs=1, optimizer=optax.adam(0.01), checkpoint=path)
    with pytest.raises(FileFormatError, match="is from another training"):
        sx.fit(NET, X, Y, epochs=1, optimizer=optax.adam(0.02), checkpoint=path)
