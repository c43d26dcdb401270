"""Parts with a learning rate of their own: a change of variables, nothing else."""

import equinox as eqx
import jax
import numpy as np
import optax
import pytest

import shootax as sx
from cases import KEY

pytestmark = pytest.mark.usefixtures("standard_promotion")

FIELD = sx.UpDown(1, 2, activation="tanh")
NET = sx.Net(FIELD, particles=3, integrator=sx.Euler(steps=2), key=KEY)
X = np.linspace(-1, 1, 8)[:, None]


class Scaled(eqx.Module):
    """A net that stores its momenta divided by a unit: what `lr_scale` stands for."""

    net: sx.Net
    unit: float = eqx.field(static=True)

    @property
    def used(self):
        return eqx.tree_at(lambda n: n.control.ensemble.p, self.net, replace_fn=self._larger)

    def _larger(self, p):
        return self.unit * p

    def __call__(self, x):
        return self.used(x)


@pytest.mark.parametrize("clip", [None, 1.0])
def test_lr_scale_is_a_change_of_variables(clip):
    """Adam, written out, on the stored momenta; the objective sees the used ones."""
    unit, rate = 0.25, 0.03
    adam = sx.Optimizer(rate, schedule=sx.Constant(), clip=clip, lr_scale={"momenta": unit})
    ours = sx.fit(NET, X, X**2, epochs=3, batch_size=8, optimizer=adam).net
    smaller = eqx.tree_at(lambda n: n.control.ensemble.p, NET, replace_fn=lambda p: p / unit)
    parameters, static = eqx.partition(Scaled(smaller, unit), eqx.is_inexact_array)
    steps = (
        [optax.adam(rate)] if clip is None else [optax.clip_by_global_norm(clip), optax.adam(rate)]
    )
    optimizer = optax.chain(*steps)
    state = optimizer.init(parameters)

    def objective(parameters):
        model = eqx.combine(parameters, static)
        return 100 * jax.numpy.mean((model(X) - X**2) ** 2) + sx.penalty(model.used)

    for _ in range(3):
        updates, state = optimizer.update(jax.grad(objective)(parameters), state, parameters)
        parameters = optax.apply_updates(parameters, updates)
    theirs = eqx.combine(parameters, static).used
    for a, b in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def test_visible_positions_alone_are_frozen():
    """The part x of the particles is held, the hidden part moves."""
    adam = sx.Optimizer(schedule=sx.Constant(), freeze={"visible-positions": 2})
    trained = sx.fit(NET, X, X**2, epochs=2, batch_size=8, optimizer=adam).net
    before, after = NET.control.ensemble.q, trained.control.ensemble.q
    np.testing.assert_array_equal(after[:, :1], before[:, :1])
    assert (np.abs(after - before)[:, 1:] > 1e-4).any()


def test_names_of_scales():
    with pytest.raises(ValueError, match="nothing called 'momentum' to scale the learning rate of"):
        sx.fit(NET, X, X**2, optimizer=sx.Optimizer(lr_scale={"momentum": 0.1}), epochs=1)
