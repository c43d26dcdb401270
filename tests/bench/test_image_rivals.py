"""The rivals train our own residual networks of images: same losses, step after step."""

import numpy as np
import pytest

from benchmarks.speed import rival_convolution
from benchmarks.speed.convolution import Network, batch, model, runner
from benchmarks.speed.render import markdown

pytestmark = pytest.mark.usefixtures("standard_promotion")

TINY = [
    Network("affine", 6, (4, 8), layers=2, particles=2, batch=3),
    Network("updown", 9, (4,), layers=2, particles=2, inflation=2, stem=2, cells=2, batch=3),
]


@pytest.mark.slow
@pytest.mark.parametrize("network", TINY, ids=lambda network: network.name)
def test_free_layers_have_our_losses(network):
    pytest.importorskip("torch")
    free, data = model(network, free=True), batch(network)
    mine = [run() for run in [runner(network, free=True)] for _ in range(3)]
    assert mine[2] < mine[0]
    for rival in (
        rival_convolution.jax_runner(network, free, data),
        rival_convolution.torch_runner(network, free, data, 1),
    ):
        np.testing.assert_allclose([rival() for _ in range(3)], mine, rtol=1e-9)


def test_the_table_compares_fastest_times():
    common = {"part": "convolution", "case": "digits", "threads": 1, "ours_fastest_ms": 3.0}
    records = [
        {**common, "rival": "free layers, ours", "rival_fastest_ms": 2.0},
        {**common, "rival": "free layers, PyTorch", "rival_fastest_ms": 1.5},
    ]
    assert "| digits | 3 | 2 | 1.5 | 1.50 | 2.00 |" in markdown(records)
