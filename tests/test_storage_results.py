"""The models that were published with the results still give the numbers that were published."""

import json
import math
import pathlib

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import arrays, cast
from shootax.data import FUNCTIONS, HELD_OUT, rotating_mnist, spiral
from shootax.data._functions import DOMAIN
from shootax.paper._latent import squared_errors
from shootax.paper._regression import mean_square
from shootax.paper._spiral import norms, pasted

RESULTS = pathlib.Path(__file__).parents[1] / "docs" / "results"
STORED = sorted(RESULTS.glob("*/models/*.safetensors"))
QUICK = (
    "cubic-paper/models/dynamic-particles-a16-k15-s6",
    "quadratic-best/models/static-direct-a16-s7",
    "spiral-paper/models/dynamic-particles-a16-k25-s6",
)


def published(file):
    runs = json.loads((file.parents[1] / "results.json").read_text())
    (run,) = [run for run in runs if run.get("model") == f"models/{file.name}"]
    return run


def error(run, model):
    """The name of a published error that needs no random data, and its value now."""
    if run["experiment"] in FUNCTIONS:
        x = np.linspace(*DOMAIN, 1000)[:, None]
        return "test_mse", mean_square(model, x, FUNCTIONS[run["experiment"]](x))
    return "long_range_mse", norms(pasted(model) - spiral().x)[1]


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
    if run["experiment"] in ("bouncing-balls", "rotating-mnist", "mnist"):
        first = model.stem if run["experiment"] == "mnist" else model.encoder
        counted = model if run["experiment"] == "mnist" else model.net
        frames, size = first.layers[0].weight.shape[2], 28
        y = eqx.filter_jit(model)(jnp.full((1, frames, size, size), 0.5, jnp.float32))
        assert bool(jnp.all(jnp.isfinite(y)))
        assert sx.count(counted) == run["parameters"]
        assert math.isclose(eqx.filter_jit(sx.penalty)(model), run["penalty"], rel_tol=1e-3)
        if run["experiment"] == "rotating-mnist":
            now = squared_errors(model, rotating_mnist()[1], 1).mean(axis=0)
            np.testing.assert_allclose(now, run["mse_per_step"], rtol=2e-3)
            assert math.isclose(now[HELD_OUT], run["test_mse"], rel_tol=2e-3)
    else:
        assert sx.count(model) == run["parameters"]
        assert {leaf.dtype.name for leaf in arrays(model)} == {"float32"}
        double = cast(model, np.float64)  # the tests' inputs are so
        name, now = error(run, double)
        assert math.isclose(now, run[name], rel_tol=2e-3)
        assert math.isclose(eqx.filter_jit(sx.penalty)(double), run["penalty"], rel_tol=1e-4)
