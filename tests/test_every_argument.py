"""Every argument of the public API is checked: wrong values are refused in words of our own.

Each call below works. Each of its arguments is then replaced, one at a time, by values that cannot
be right; the exception must be raised by this library, and not by what is called with the value.
"""

import pathlib
import traceback
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY
from shootax import data, export, extend, kernels, maximisers, nn, plots, theory

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("standard_promotion")]

WRONG = (None, "a", -1, 0, -1.5, float("nan"), [], {}, True, object())

FIELD = sx.UpDown(2, 3, activation="tanh")
NET = sx.Net(FIELD, particles=3, integrator=sx.RK4(2), key=KEY)
STATIC = sx.Net(FIELD, sx.Static(FIELD, key=KEY), key=KEY)
IMAGES = sx.Net(sx.ConvAffine(1, (4, 4)), particles=2, key=KEY)
X, Q = np.ones((4, 2)), np.ones((3, 8))
SEQUENCES = data.Sequences(np.ones((2, 5, 1)))
TEXT, NONE, ZERO, TRUE, EMPTY, MAP = ("a",), (None,), (0,), (True,), ([],), ({},)
NUMBER = (-1, 0, -1.5)


def ident(x):
    return x


def linear(z, theta):
    return z * theta["a"]


def zero_theta(t):
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape), FIELD.theta)


def objective(net, x):
    return jnp.sum(net(x))


class Given:
    """An argument that works, and which of the wrong values are right here."""

    def __init__(self, value: Any, *accepted: Any):
        self.value, self.accepted = value, accepted


def good(value: Any) -> Any:
    return value.value if isinstance(value, Given) else value


G = Given
COUNT = {"max_iterations": 10}
START = {"spread": 1.0, "seed": G(0, *ZERO)}
LIMITS = {"tolerance": G(1e-4, *NONE), "max_iterations": 5, **START}
MAP_OR_NONE = (*NONE, *MAP)

CALLS: list[tuple[Any, tuple, dict[str, Any]]] = [
    (sx.Affine, (2,), {"activation": "tanh"}),
    (sx.UpDown, (2,), {"inflation": 3, "activation": "tanh", "theta3": G(True, *TRUE)}),
    (sx.GeneralUpDown, (2,), {"inflation": 2}),
    (sx.DampedUpDown, (2,), {"inflation": 2, "damping": 0.5}),
    (sx.Periodic, (2,), {}),
    (sx.BlockSparse, ((2, 2),), {"links": G([(0, 1)], *NONE, *EMPTY), "activation": "tanh"}),
    (sx.ConvAffine, (1, (4, 4)), {"window": 3, "activation": "tanh"}),
    (sx.ConvGrouped, (2, (4, 4)), {"groups": G(2, *NONE), "window": 3, "activation": "tanh"}),
    (sx.ConvUpDown, (1, (4, 4)), {"inflation": 2, "window": 3}),
    (sx.SingleHiddenLayer, (2,), {"width": 3, "activation": "tanh", "bias": G(True, *TRUE)}),
    (sx.RKHS, (2,), {"kernel": kernels.GaussianKernel()}),
    (
        sx.FunctionField,
        (linear,),
        {
            "state": G(sx.shape(2), *NUMBER, True, float("nan")),
            "theta": G({"a": sx.shape()}, *WRONG),
        },
    ),
    (sx.shape, (G(2, *ZERO),), {}),
    (sx.linearity, (FIELD,), {"tolerance": 1e-3}),
    (extend.is_linear, (FIELD,), {}),
    (extend.infer_layout, (FIELD,), {}),
    (sx.Barron, (), {"bias": 1.0}),
    (sx.Quadratic, (), {"default": 1.0, "theta3": 2.0}),
    (sx.RKHSNorm, (kernels.GaussianKernel(),), {}),
    (sx.Transport, (), {"ridge": 1e-3}),
    (extend.SPDMatrix, (np.eye(2),), {}),
    (sx.Uniform, (G(-1.0, *NUMBER), G(1.0, *ZERO)), {"hidden": G(0.1, *ZERO)}),
    (sx.Gaussian, (G(1.0, *ZERO),), {"hidden": G(0.1, *ZERO)}),
    (sx.FromData, (X,), {"hidden": G(0.1, *ZERO)}),
    (
        sx.Ensemble.draw,
        (FIELD, 3),
        {"position": sx.Uniform(), "momentum": G(0.1, *NONE, *ZERO), "key": KEY},
    ),
    (sx.Ensemble.on, (Q,), {"momentum": G(0.1, *ZERO), "key": KEY}),
    (sx.Ensemble, (Q, Q), {}),
    (
        sx.Particles.draw,
        (FIELD, 3),
        {"key": KEY, "T": 1.0, "penalty": G(sx.Quadratic(), *NONE), "form": "auto"},
    ),
    (sx.Static, (FIELD,), {"T": 1.0, "scale": G(1.0, *ZERO), "key": KEY}),
    (sx.Piecewise, (FIELD, 3), {"T": 1.0, "scale": G(1.0, *ZERO), "key": KEY}),
    (sx.Basis, (FIELD, "legendre", 3), {"key": KEY, "T": 1.0}),
    (sx.FunctionControl, (FIELD, zero_theta), {"T": 1.0, "points": 4}),
    (sx.formulation, ("static-direct", FIELD), {"particles": 3, "key": KEY}),
    (sx.RK4, (3,), {"gradient": sx.Direct()}),
    (sx.Euler, (3,), {}),
    (sx.ImplicitMidpoint, (3,), COUNT),
    (sx.SymplecticEuler, (3,), COUNT),
    (sx.Tsit5, (), {"rtol": 1e-3, "atol": 1e-3, "max_steps": 100}),
    (sx.Dopri5, (), {"rtol": 1e-3, "atol": 1e-3, "max_steps": 100}),
    (sx.Reversed, (), COUNT),
    (sx.Chain, (NET, NET), {}),
    (
        sx.Net,
        (FIELD,),
        {
            "particles": 3,
            "lift": G("affine", *NONE),
            "readout": G(1, *NONE),
            "integrator": sx.RK4(2),
            "key": KEY,
        },
    ),
    (sx.Cosine, (), {"warmup": G(0.1, *ZERO), "floor": G(0.1, *ZERO)}),
    (
        sx.Plateau,
        (),
        {
            "drop": 0.5,
            "patience": 3,
            "threshold": G(1e-3, *ZERO),
            "floor": G(0.1, *ZERO),
            "every": 1,
        },
    ),
    (
        sx.Optimizer,
        (0.01,),
        {
            "schedule": sx.Cosine(),
            "clip": G(1.0, *NONE),
            "weight_decay": G({"lift": 0.1}, *MAP_OR_NONE),
            "ema": G(0.9, *ZERO),
            "freeze": G({"lift": 1}, *MAP_OR_NONE),
            "lr_scale": G({"lift": 0.1}, *MAP_OR_NONE),
            "transform": G(None, *NONE),
        },
    ),
    (sx.Validation, (0.25,), {"patience": G(3, *NONE), "keep_best": G(True, *TRUE)}),
    (sx.TrainingStep, (NET, objective), {}),
    (sx.break_even, (FIELD, 3), {}),
    (
        sx.compress,
        (STATIC,),
        {
            "tolerance": 0.1,
            "particles": G((1,), *NONE),
            "match": "weights",
            "starts": 1,
            "iterations": 2,
            "key": G(KEY, *NONE),
        },
    ),
    (sx.bake_within, (NET, X), {"tolerance": 1e-2}),
    (sx.bake_report, (NET, X), {"steps": G((2,), *NONE, *EMPTY)}),
    (sx.theta_path, (STATIC, [0.5]), {}),
    (sx.register, ("my.Field",), {"defaults": G({}, *MAP_OR_NONE), "renamed": G({}, *MAP_OR_NONE)}),
    (nn.AffineLift, (2, 6), {"key": KEY}),
    (nn.ChannelLift, (2, 6), {"key": KEY}),
    (nn.ConstantLift, (6,), {}),
    (nn.ZeroLift, (6,), {}),
    (nn.MLPLift, (2, 6), {"width": 8, "act": "tanh", "key": KEY}),
    (nn.LinearLift, (3, 8), {"key": KEY}),
    (nn.LinearReadout, (2, 5), {"key": KEY}),
    (nn.VisibleReadout, (2,), {}),
    (nn.Transition, ((1, 2),), {"reduce": "pool", "groups": G(1, *ZERO), "key": KEY}),
    (
        nn.resnet,
        ((IMAGES,),),
        {
            "inputs": 1,
            "classes": 2,
            "reduce": "pool",
            "groups": G(0, *ZERO),
            "pass_particles": G(False, *TRUE),
            "cells": 2,
            "key": KEY,
        },
    ),
    (nn.ParticleChain, ((NET, NET), (ident,)), {}),
    (nn.MLP, (2, 3, 4), {"key": KEY}),
    (nn.Downsample, (1, 2), {"width": 5, "pool": "max", "key": KEY}),
    (nn.Upsample, (1, 2), {"key": KEY}),
    (nn.Convolution, (1, 2), {"width": 3, "key": KEY}),
    (nn.LayerNorm, (2,), {}),
    (
        nn.ImageEncoder,
        (3,),
        {"frames": 1, "size": 8, "channels": (2,), "norm": "layer", "key": KEY},
    ),
    (
        nn.ImageDecoder,
        (3,),
        {"size": 8, "channels": (2,), "last": 2, "activation": "gelu", "key": KEY},
    ),
    (nn.ImageStem, (1, (2,)), {"widths": 3, "pool": "max", "key": KEY}),
    (nn.LatentModel, (ident, NET, ident, [0.0, 1.0]), {}),
    (kernels.GaussianKernel, (0.5,), {}),
    (kernels.LaplaceKernel, (0.5,), {}),
    (kernels.InverseMultiquadric, (0.5,), {}),
    (kernels.SumKernel, (kernels.GaussianKernel(),), {"weights": G((1.0,), *NONE)}),
    (maximisers.Newton, (), LIMITS),
    (maximisers.QuasiNewton, (), LIMITS),
    (maximisers.PerNeuron, (), {**LIMITS, "starts": 2}),
    (maximisers.Unrolled, (5,), {"rate": 0.1, "warmup": 5, "tolerance": G(1.0, *NONE), **START}),
    (maximisers.VertexSearch, (), {"pivots": 5, "warmup": 5, "rate": 0.1, **START}),
    (maximisers.ClosedForm, (), {"drift": G(False, *TRUE)}),
    (maximisers.LinearSolve, (), {"drift": G(False, *TRUE), "structured": G(True, *TRUE)}),
    (maximisers.maximise, (FIELD, sx.Quadratic(), Q, Q), {"throw": G(True, *TRUE)}),
    (extend.Checkpoint, (G("c.safetensors", *TEXT),), {"every": G(1.0, *ZERO)}),
    (
        extend.Layout,
        (
            {"x": 2},
            (extend.Feature("x", "x"),),
            G((extend.Block("A", "x", "x"),), *EMPTY),
        ),
        {},
    ),
    (data.Sequences, (np.ones((2, 2, 1)), G([0.0, 0.1], *NONE), G(np.ones((2, 2)), *NONE)), {}),
    (
        data.MaskedFrames,
        (SEQUENCES,),
        {
            "first": 1,
            "never": G((), *EMPTY),
            "hidden": G(1, *ZERO),
            "redrawn": G(True, *TRUE),
            "seed": G(0, *ZERO),
        },
    ),
    (data.SpiralSnippets, (data.spiral(),), {"samples": 3, "points": 3}),
    (data.annuli, (3, 3), {"seed": G(0, *ZERO)}),
    (data.bouncing_balls, (2,), {"frames": 2, "seed": G(0, *ZERO)}),
    (data.ball_paths, (2,), {"frames": 2, "seed": G(0, *ZERO)}),
    (data.sample_function, ("cubic", 4), {"seed": G(0, *ZERO)}),
    (data.spiral, (20,), {}),
    (
        data.deformed,
        (np.ones((1, 8, 8)), G(0, *ZERO)),
        {name: G(0.1, *ZERO) for name in ("degrees", "stretch", "shear", "shift")},
    ),
    (data.turning, (np.arange(64.0).reshape(1, 8, 8),), {}),
    (export.companions, (G(pathlib.Path("n.npz"), *TEXT), "numpy"), {}),
    (plots.history, (G({"objective": [1.0, 0.5]}, *MAP),), {}),
    (
        theory.ActivationBounds,
        (G(1.0, *ZERO),),
        {"offset": G(0.0, *ZERO), "sup": G(1.0, *ZERO)},
    ),
]


def own(error: Exception) -> bool:
    """Whether this library raised it, with a message; or the type checker of the tests did."""
    if type(error).__name__ == "TypeCheckError":
        return True
    last = traceback.extract_tb(error.__traceback__)[-1]
    kind = isinstance(error, ValueError | TypeError)
    return kind and "shootax" in last.filename and "raise" in (last.line or "") and bool(str(error))


@pytest.mark.parametrize("call", CALLS, ids=lambda call: call[0].__qualname__)
def test_wrong_values_are_refused(call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    function, args, options = call
    named = {**dict(enumerate(args)), **options}

    def called(changed: dict[Any, Any]) -> None:
        values = {**{name: good(value) for name, value in named.items()}, **changed}
        positional = [values.pop(i) for i in range(len(args))]
        function(*positional, **values)

    called({})
    wrong = []
    for name, value in named.items():
        accepted = value.accepted if isinstance(value, Given) else ()
        for bad in WRONG:
            if any(bad is each or repr(bad) == repr(each) for each in accepted):
                continue
            try:
                called({name: bad})
                wrong.append(f"{name} = {bad!r} is accepted")
            except Exception as error:
                if not own(error):
                    wrong.append(f"{name} = {bad!r}: {type(error).__name__}: {error}")
    assert not wrong, "\n".join(wrong)


def test_there_are_many():
    assert len(CALLS) >= 90
