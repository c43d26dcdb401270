"""Settings are part of the structure of a model: no leaf of it is anything but an array."""

import jax
import pytest

import shootax as sx
from shootax import kernels

SETTINGS = [
    *(sx.Euler(3), sx.Heun(3), sx.RK4(3), sx.ImplicitMidpoint(3), sx.SymplecticEuler(3)),
    *(sx.Dopri5(), sx.Tsit5(), sx.Direct(), sx.Checkpointed(), sx.Reversed()),
    *(sx.UpDown(2, 3), sx.GeneralUpDown(2, 3), sx.DampedUpDown(2, 3), sx.Affine(2)),
    *(sx.ConvAffine(2, (3, 3)), sx.ConvUpDown(1, (6, 6), 2), sx.ConvGrouped(4, (6, 6), 2)),
    *(sx.SingleHiddenLayer(2, 3), sx.RKHS(2), sx.Quadratic()),
    *(kernels.GaussianKernel(), kernels.LaplaceKernel(), kernels.InverseMultiquadric()),
    sx.extend.StagewiseParticles(None, None, sx.Quadratic(), (0.0,), (1.0,), 1.0),
]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: type(setting).__name__)
def test_settings_have_no_leaves(setting):
    assert jax.tree.leaves(setting) == []


@pytest.mark.parametrize(
    "kernel", [kernels.GaussianKernel, kernels.LaplaceKernel, kernels.InverseMultiquadric]
)
def test_scales_of_kernels_are_positive(kernel):
    for scale in (0.0, -1.0, "a"):
        with pytest.raises(ValueError, match="scale must be"):
            kernel(scale)
