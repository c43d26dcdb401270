"""The exponential moving average of the parameters."""

import jax
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import shootax as sx
from shootax._train import Checkpoint

pytestmark = pytest.mark.usefixtures("standard_promotion")

X = np.linspace(-1, 1, 8)[:, None]


def net():
    return sx.Net(sx.UpDown(dim=1, inflation=2), particles=3, key=jax.random.key(0))


def vector(model):
    return np.asarray(ravel_pytree(model)[0])


def fitted(epochs, ema=0.0, **options):
    """One batch is one epoch, so that `epochs` steps are taken, each the same for any `epochs`."""
    optimizer = sx.Optimizer(schedule=sx.Constant(), ema=ema)
    options = {"optimizer": optimizer, "batch_size": 8, "progress": False, **options}
    return sx.fit(net(), X, X**2, epochs=epochs, **options)


@pytest.mark.parametrize("keeps", [0.3, 0.95])
def test_average_of_all_steps(keeps):
    average = vector(net())
    for step in range(6):
        fraction = min(keeps, (1 + step) / (10 + step))
        average = fraction * average + (1 - fraction) * vector(fitted(step + 1).net)
    np.testing.assert_allclose(vector(fitted(6, ema=keeps).net), average, rtol=1e-12)


def test_validation_looks_at_the_average():
    held_out = (X / 2, X**2)
    run = fitted(5, ema=0.9, validation=held_out)
    found = np.mean((np.asarray(run.net(held_out[0])) - held_out[1]) ** 2)
    np.testing.assert_allclose(run.history["validation"][-1], found, rtol=1e-12)
    best = fitted(5, ema=0.9, validation=sx.Validation(held_out, keep_best=True))
    found = np.mean((np.asarray(best.net(held_out[0])) - held_out[1]) ** 2)
    np.testing.assert_allclose(best.history["validation"].min(), found, rtol=1e-12)


def test_resumed_average(tmp_path):
    whole = fitted(6, ema=0.9)
    path = tmp_path / "state"

    class Stop(Exception):
        pass

    def show(done, _):
        if done >= 3:
            raise Stop

    checkpoint = Checkpoint(path, every=0.0)
    with pytest.raises(Stop):
        fitted(6, ema=0.9, checkpoint=checkpoint, progress=show)
    resumed = fitted(6, ema=0.9, checkpoint=checkpoint)
    np.testing.assert_array_equal(vector(resumed.net), vector(whole.net))


@pytest.mark.parametrize("bad", [1.0, -0.1, np.nan])
def test_wrong_fraction(bad):
    with pytest.raises(ValueError, match="ema"):
        fitted(1, ema=bad)
