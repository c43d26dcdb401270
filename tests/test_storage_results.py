"""The models that were published with the results still give the numbers that were published."""

import json
import math
import pathlib

import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from shootax.data import FUNCTIONS
from shootax.data.functions import DOMAIN
from shootax.experiments.regression import mean_square
from shootax.experiments.spiral import POINTS, TEST, norms, trajectories

RESULTS = pathlib.Path(__file__).parents[1] / "docs" / "results"
STORED = sorted(RESULTS.glob("*/models/*.safetensors"))
QUICK = (
    "cubic-paper/models/dynamic-particles-a16-k15-s6",
    "quadratic-best/models/static-direct-a16-s7",
    "spiral-paper/models/dynamic-particles-a16-k25-s6",
)


def published(file):
    runs = json.loads((file.parents[1] / "results.json").read_text())
    (run,) = [run for run in runs if run["model"] == f"models/{file.name}"]
    return run


def test_error(run, model):
    """The error on the test data, as the experiment measures it."""
    if run["experiment"] in FUNCTIONS:
        x = np.linspace(*DOMAIN, 1000)[:, None]
        return mean_square(model, x, FUNCTIONS[run["experiment"]](x))
    import jax

    from shootax.data import SpiralSnippets, spiral

    x, y = SpiralSnippets(spiral(), 1000, POINTS)(jax.random.key(TEST))
    return norms(np.asarray(trajectories(model, x)) - np.asarray(y))[1]


test_error.__test__ = False  # pyright: ignore


@pytest.mark.usefixtures("standard_promotion")
@pytest.mark.parametrize(
    "file",
    [
        pytest.param(
            f,
            marks=[] if f.as_posix().endswith(tuple(f"{q}.safetensors" for q in QUICK)) else slow,
            id=f"{f.parents[1].name}/{f.stem}",
        )
        for slow in [pytest.mark.slow]
        for f in STORED
    ],
)
def test_published_models(file):
    run, model = published(file), sx.load(file)
    if run["experiment"] in ("bouncing-balls", "rotating-mnist"):
        frames, size = model.encoder.layers[0].weight.shape[2], 28
        y = model(jnp.full((1, frames, size, size), 0.5, jnp.float32))
        assert bool(jnp.all(jnp.isfinite(y)))
        assert sx.count(model.net) == run["parameters"]
        assert math.isclose(sx.penalty(model), run["penalty"], rel_tol=1e-3)
    else:
        assert sx.count(model) == run["parameters"]
        assert math.isclose(test_error(run, model), run["test_mse"], rel_tol=2e-3)
        assert math.isclose(sx.penalty(model), run["penalty"], rel_tol=1e-4)
