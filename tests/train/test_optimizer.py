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
    ours = sx.fit(NET, X, Y, learning_rate=0.02, schedule=sx.Constant(), **options)
    assert_alike(own.net, ours.net)
    assert np.isnan(own.history["learning_rate"]).all()


def test_a_step_of_plain_descent_goes_down_and_has_its_own_size():
    """From the first objective to a lower one, by a hundredth of the gradient."""
    options = {"epochs": 1, "batch_size": 10, "data_weight": 1.0}
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
    with pytest.raises(ValueError, match=r"goes up the gradient.*scale_by_learning_rate\(1e-2\)"):
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


@pytest.mark.parametrize(
    "option",
    [{"learning_rate": 0.01}, {"schedule": sx.Constant()}, {"weight_decay": {"lift": 0.1}}],
    ids=lambda option: next(iter(option)),
)
def test_what_the_optimizer_has_itself_is_not_given_twice(option):
    name = next(iter(option))
    with pytest.raises(ValueError, match=f"either an optimizer or {name}, got both"):
        sx.fit(NET, X, Y, epochs=1, optimizer=optax.adam(0.01), **option)


def test_what_is_no_optimizer_is_refused():
    with pytest.raises(ValueError, match=r"such as optax.adam\(1e-2\), got 'adam'"):
        sx.fit(NET, X, Y, epochs=1, optimizer="adam")
    with pytest.raises(ValueError, match="as a line search does"):
        sx.fit(NET, X, Y, epochs=1, optimizer=optax.lbfgs())


def test_a_checkpoint_knows_the_optimizer(tmp_path):
    path = tmp_path / "state.safetensors"
    sx.fit(NET, X, Y, epochs=1, optimizer=optax.adam(0.01), checkpoint=path)
    sx.fit(NET, X, Y, epochs=1, optimizer=optax.adam(0.01), checkpoint=path)
    with pytest.raises(FileFormatError, match="is of another training"):
        sx.fit(NET, X, Y, epochs=1, optimizer=optax.adam(0.02), checkpoint=path)
