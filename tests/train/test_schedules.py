"""Learning-rate schedules."""

import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx


class TorchPlateau:
    """`torch.optim.lr_scheduler.ReduceLROnPlateau`, mode min, relative threshold, retold."""

    def __init__(self, factor, patience, threshold, floor):
        self.factor, self.patience, self.threshold, self.floor = factor, patience, threshold, floor
        self.rate, self.best, self.bad_epochs = 1.0, float("inf"), 0

    def step(self, metric):
        if metric < self.best * (1.0 - self.threshold):
            self.best = metric
            self.bad_epochs = 0
        else:
            self.bad_epochs += 1
        if self.bad_epochs > self.patience:
            self.rate = max(self.rate * self.factor, self.floor)
            self.bad_epochs = 0


def losses(kind, length=300):
    rng = np.random.default_rng(0)
    steps = np.arange(length)
    return {
        "flat": np.ones(length),
        "falling": np.exp(-0.05 * steps),
        "slow": 1 - 1e-5 * steps,  # improvements below the threshold
        "noisy": np.exp(-0.02 * steps) + 0.2 * rng.uniform(size=length),
        "bursts": np.where(steps % 17 == 0, 1 / (1 + steps), 2.0),
    }[kind]


@pytest.mark.parametrize("kind", ["flat", "falling", "slow", "noisy", "bursts"])
@pytest.mark.parametrize(
    ("drop", "patience", "threshold", "floor"),
    [(0.5, 10, 1e-4, 0.0), (0.1, 1, 1e-2, 1e-3), (0.7, 4, 0.0, 0.2)],
)
def test_plateau_is_torch_s(kind, drop, patience, threshold, floor):
    ours = sx.Plateau(drop=drop, patience=patience, threshold=threshold, floor=floor)
    state, theirs = ours.init(), TorchPlateau(drop, patience, threshold, floor)
    for epoch, loss in enumerate(losses(kind)):
        np.testing.assert_allclose(
            ours.factor(state, jnp.asarray(0.0)), theirs.rate, rtol=1e-9, err_msg=f"epoch {epoch}"
        )
        state = ours.observe(state, jnp.asarray(loss))
        theirs.step(loss)
    assert theirs.rate < 1 or kind != "flat"


@pytest.mark.parametrize("kind", ["flat", "noisy"])
def test_plateau_that_looks_at_every_tenth_epoch(kind):
    ours = sx.Plateau(patience=2, every=10)
    state, theirs = ours.init(), TorchPlateau(0.5, 2, 1e-4, 0.0)
    for epoch, loss in enumerate(losses(kind)):
        np.testing.assert_allclose(ours.factor(state, jnp.asarray(0.0)), theirs.rate, rtol=1e-9)
        state = ours.observe(state, jnp.asarray(loss))
        if epoch % 10 == 0:
            theirs.step(loss)
    assert theirs.rate < 1


def test_plateau_defaults_are_torch_s_but_for_the_drop():
    default = sx.Plateau()
    assert (default.drop, default.patience, default.threshold, default.floor) == (0.5, 10, 1e-4, 0)


def factor(schedule, progress):
    return float(schedule.factor(schedule.init(), jnp.asarray(progress)))


def test_cosine_end_points():
    assert factor(sx.Cosine(), 0.0) == 1.0
    np.testing.assert_allclose(factor(sx.Cosine(), 0.5), 0.5, rtol=1e-12)
    np.testing.assert_allclose(factor(sx.Cosine(), 1.0), 0.0, atol=1e-15)
    np.testing.assert_allclose(factor(sx.Cosine(floor=0.1), 1.0), 0.1, rtol=1e-12)


def test_cosine_warmup():
    schedule = sx.Cosine(warmup=0.2)
    rising = [factor(schedule, s) for s in np.linspace(0, 0.2, 20, endpoint=False)]
    falling = [factor(schedule, s) for s in np.linspace(0.2, 1, 20)]
    assert (np.diff(rising) > 0).all()
    assert (np.diff(falling) < 0).all()
    assert 0 < rising[0] < 0.01
    assert falling[0] == 1.0
    np.testing.assert_allclose(factor(schedule, 0.6), 0.5, rtol=1e-12)


def test_constant():
    assert [factor(sx.Constant(), s) for s in (0.0, 0.3, 1.0)] == [1.0, 1.0, 1.0]
