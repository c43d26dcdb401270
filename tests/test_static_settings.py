"""Settings are part of the structure of a model: no leaf of it is anything but an array."""

import jax
import pytest

import shootax as sx

SETTINGS = [
    *(sx.Euler(3), sx.Heun(3), sx.RK4(3), sx.ImplicitMidpoint(3), sx.SymplecticEuler(3)),
    *(sx.Dopri5(), sx.Tsit5(), sx.Direct(), sx.Checkpointed(), sx.Reversed()),
    *(sx.UpDown(2, 3), sx.GeneralUpDown(2, 3), sx.DampedUpDown(2, 3), sx.Affine(2)),
    *(sx.ConvAffine(2, (3, 3)), sx.ConvUpDown(1, (6, 6), 2), sx.ConvGrouped(4, (6, 6), 2)),
    *(sx.SingleHiddenLayer(2, 3), sx.RKHS(2), sx.Quadratic()),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: type(setting).__name__)
def test_settings_have_no_leaves(setting):
    assert jax.tree.leaves(setting) == []
