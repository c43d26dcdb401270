"""Mistakes in models and in their arguments, for the tests of bad inputs.

A case is a name, a call, the expected exception, and words of its message.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import shootax as sx
from cases import KEY
from shootax import kernels, maximisers, nn


class Case(NamedTuple):
    name: str
    call: Callable[..., Any]
    error: type[Exception]
    words: tuple[str, ...]


def case(name: str, call: Callable[..., Any], error: type[Exception], *words: str) -> Any:
    return pytest.param(Case(name, call, error, words), id=name)


FIELD = sx.UpDown(2, 3, activation="tanh")
NET = sx.Net(FIELD, particles=3, integrator=sx.RK4(2), key=KEY)
STATIC = sx.Net(FIELD, sx.Static(FIELD, key=KEY), key=KEY)
BAKED = eqx.tree_at(
    lambda net: net.control,
    NET,
    sx.extend.Stagewise(STATIC.control.theta, STATIC.control.penalty, (0.0,), (1.0,), 1.0),
)
IMAGES = sx.Net(sx.ConvAffine(1, (4, 4)), particles=2, key=KEY)
DRAWN = NET.control.ensemble
X = np.ones((4, 2))
Z = np.ones((4, 8))
V, T = ValueError, TypeError
NOT_A_KEY = ("key must be one JAX random key", "jax.random.key(0)", "got 0")


NETS = [
    case(
        "net-number", lambda: sx.Net(FIELD, 3, key=KEY), T, "control must be", "3", "particles=15"
    ),
    case(
        "net-swapped", lambda: sx.Net(3, FIELD, key=KEY), T, "field must be", "got 3", "Write Net("
    ),
    case(
        "net-class", lambda: sx.Net(sx.UpDown, particles=3, key=KEY), T, "the class UpDown itself"
    ),
    case(
        "net-control-class", lambda: sx.Net(FIELD, sx.Particles, key=KEY), T, "Write Particles(...)"
    ),
    case(
        "net-both", lambda: sx.Net(FIELD, NET.control, particles=3, key=KEY), V, "either a control"
    ),
    case("net-neither", lambda: sx.Net(FIELD, key=KEY), V, "either a control", "particles=15"),
    case("net-key-0", lambda: sx.Net(FIELD, particles=3, key=0), T, *NOT_A_KEY),
    case("net-key-none", lambda: sx.Net(FIELD, particles=3, key=None), T, "random key", "got None"),
    case("net-keys", lambda: sx.Net(FIELD, particles=3, key=jax.random.split(KEY)), T, "keys[0]"),
    case("net-particles", lambda: sx.Net(FIELD, particles="3", key=KEY), V, "whole number", "'3'"),
    case(
        "net-integrator-class",
        lambda: sx.Net(FIELD, particles=3, integrator=sx.RK4, key=KEY),
        *(T, "integrator must be", "the class RK4 itself", "Write RK4(...)"),
    ),
    case(
        "net-integrator-text",
        lambda: sx.Net(FIELD, particles=3, integrator="rk4", key=KEY),
        *(T, "integrator must be", "'rk4'", "integrator=RK4(steps=10)"),
    ),
    case(
        "net-lift", lambda: sx.Net(FIELD, particles=3, lift=2.5, key=KEY), T, "lift must be", "2.5"
    ),
    case(
        "net-lift-class",
        lambda: sx.Net(FIELD, particles=3, lift=nn.AffineLift, key=KEY),
        *(T, "lift must be", "the class AffineLift itself"),
    ),
    case(
        "net-lift-name",
        lambda: sx.Net(FIELD, particles=3, lift="up", key=KEY),
        V,
        "Unknown lift 'up'",
    ),
    case(
        "net-readout",
        lambda: sx.Net(FIELD, particles=3, readout=0.5, key=KEY),
        T,
        "readout must be",
    ),
    case("chain-empty", lambda: sx.Chain(), V, "at least one net", "Chain(first, second)"),
    case("chain-number", lambda: sx.Chain(3), T, "made of nets", "got 3"),
    case("chain-class", lambda: sx.Chain(sx.Net), T, "made of nets", "the class Net itself"),
]

INPUTS = [
    case("x-complex", lambda: NET(X.astype(complex)), V, "real numbers", "complex128"),
    case("x-complex-jax", lambda: NET(jnp.asarray(X, complex)), V, "real numbers", "complex128"),
    case("x-text", lambda: NET("text"), V, "must hold numbers", "np.asarray(x, float)"),
    case("x-texts", lambda: NET([["a", "b"]]), V, "must hold numbers"),
    case("x-none", lambda: NET(None), T, "must be an array", "got None"),
    case("x-empty-list", lambda: NET([]), V, "shape (batch, 2)", "got (0,)"),
    case("x-dict", lambda: NET({"x": X}), V, "one array of shape (batch, 2)", "dict"),
    case("x-scalar", lambda: NET(1.0), V, "samples along its first axis", "x[None]"),
    case("x-ragged", lambda: NET([[1, 2], [3]]), V, "array of numbers", "list"),
    case("x-one-sample", lambda: NET(X[0]), V, "shape (batch, 2)", "got (2,)", "x[None]"),
    case("x-columns", lambda: NET(np.ones((4, 5))), V, "dim=2", "got (4, 5)"),
    case("x-nan", lambda: NET(np.full((4, 2), np.nan)), V, "must be finite", "NaN at index (0, 0)"),
    case("x-no-samples", lambda: NET(X[:0]), V, "no samples"),
    case("x-date", lambda: NET(X.astype("datetime64[s]")), V, "must hold numbers", "datetime64"),
    case(
        "image-no-channel", lambda: IMAGES(np.ones((3, 4, 4))), V, "(batch, 1, height", "x[:, None]"
    ),
    case("image-channels", lambda: IMAGES(np.ones((3, 2, 4, 4))), V, "1 channels", "(3, 2, 4, 4)"),
    case("image-dict", lambda: IMAGES({"a": X}), V, "images must have shape", "dict"),
    case("times-text", lambda: NET(X, "1"), V, "times must hold numbers"),
    case("times-texts", lambda: NET(X, ["0", "1"]), V, "times must hold numbers"),
    case("times-complex", lambda: NET(X, [1j]), V, "times must hold real numbers"),
    case("times-none", lambda: NET(X, [None]), V, "times must be finite"),
    case("times-scalar", lambda: NET(X, 0.5), V, "times must have shape (times,)", "got shape ()"),
    case("times-lines", lambda: NET(X, [[0.5]] * 3), V, "(4, times)", "got shape (3, 1)"),
    case("times-order", lambda: NET(X, [0.5, 0.1]), V, "sorted and increasing", "Sort them"),
    case("times-late", lambda: NET(X, [0.5, 3.0]), V, "[0, T] = [0, 1]", "larger T"),
    case("flow-swapped", lambda: sx.flow(NET.control, FIELD, Z), T, "field must be", "a Particles"),
    case("flow-net", lambda: sx.flow(FIELD, NET, Z), T, "control must be", "a Net"),
    case(
        "flow-none", lambda: sx.flow(FIELD, NET.control, None), T, "states must be an array", "None"
    ),
    case("flow-one", lambda: sx.flow(FIELD, NET.control, Z[0]), V, "(batch, 8) for UpDown", "(8,)"),
    case("flow-size", lambda: sx.flow(FIELD, NET.control, X), V, "(batch, 8) for UpDown", "(4, 2)"),
    case(
        "flow-integrator",
        lambda: sx.flow(FIELD, NET.control, Z, integrator=sx.RK4),
        *(T, "integrator must be", "Write RK4(...)"),
    ),
    case(
        "flow-back-times",
        lambda: sx.flow(FIELD, NET.control, Z, times=[0.1, 0.5], reverse=True),
        *(V, "decreasing", "back in time"),
    ),
]

INTEGRATORS = [
    case("steps-negative", lambda: sx.RK4(steps=-1), V, "steps must be", "got -1"),
    case("steps-float", lambda: sx.Euler(steps=2.5), V, "steps must be", "got 2.5"),
    case("steps-text", lambda: sx.Heun(steps="10"), V, "steps must be", "got '10'"),
    case("gradient-text", lambda: sx.RK4(gradient="direct"), T, "gradient must be", "Direct()"),
    case(
        "gradient-class", lambda: sx.RK4(gradient=sx.Direct), T, "the class Direct", "Direct(...)"
    ),
    case("gradient-adaptive", lambda: sx.Tsit5(gradient="direct"), T, "gradient=Checkpointed()"),
    case("rtol-text", lambda: sx.Tsit5(rtol="a"), V, "rtol must be a positive number", "'a'"),
    case("atol-zero", lambda: sx.Dopri5(atol=0), V, "atol must be a positive", "got 0"),
    case("max-steps", lambda: sx.Dopri5(max_steps=0), V, "max_steps must be", "got 0"),
    case("midpoint", lambda: sx.ImplicitMidpoint(max_iterations=0), V, "max_iterations must be"),
    case(
        "symplectic", lambda: sx.SymplecticEuler(max_iterations=-1), V, "max_iterations", "got -1"
    ),
    case("reversed", lambda: sx.Reversed(max_iterations=0), V, "max_iterations must be", "got 0"),
]

CONTROLS = [
    case("static-key", lambda: sx.Static(FIELD, key=0), T, *NOT_A_KEY),
    case("static-field", lambda: sx.Static(3, key=KEY), T, "field must be", "got 3"),
    case("static-T", lambda: sx.Static(FIELD, key=KEY, T="1"), V, "final time T", "got '1'"),
    case("static-scale", lambda: sx.Static(FIELD, key=KEY, scale=-1), V, "scale must be", "got -1"),
    case(
        "static-penalty",
        lambda: sx.Static(FIELD, key=KEY, penalty=3),
        T,
        "penalty must be",
        "got 3",
    ),
    case(
        "static-penalty-class",
        lambda: sx.Static(FIELD, key=KEY, penalty=sx.Quadratic),
        *(T, "the class Quadratic itself", "Quadratic(...)"),
    ),
    case(
        "static-transport",
        lambda: sx.Static(FIELD, key=KEY, penalty=sx.Transport()),
        *(V, "depends on particles", "Quadratic()"),
    ),
    case("piecewise-blocks", lambda: sx.Piecewise(FIELD, 0, key=KEY), V, "blocks must be", "got 0"),
    case("piecewise-key", lambda: sx.Piecewise(FIELD, key=None), T, "random key", "got None"),
    case("basis-kind", lambda: sx.Basis(FIELD, 3, key=KEY), V, "Unknown basis 3", "legendre"),
    case(
        "basis-terms", lambda: sx.Basis(FIELD, "fourier", 0, key=KEY), V, "terms must be", "got 0"
    ),
    case("basis-T", lambda: sx.Basis(FIELD, T=None, key=KEY), V, "final time T", "got None"),
    case("function-number", lambda: sx.FunctionControl(FIELD, 3), T, "function of time", "got 3"),
    case(
        "function-theta", lambda: sx.FunctionControl(FIELD, lambda t: t), V, "θ of shapes", "got ()"
    ),
    case(
        "function-points",
        lambda: sx.FunctionControl(FIELD, lambda t: STATIC.control.theta, points=0),
        *(V, "points must be", "got 0"),
    ),
    case(
        "formulation-name", lambda: sx.formulation(None, FIELD, key=KEY), V, "Unknown formulation"
    ),
    case(
        "formulation-field", lambda: sx.formulation("static-direct", 3, key=KEY), T, "field must be"
    ),
    case("formulation-key", lambda: sx.formulation("static-direct", FIELD, key=0), T, *NOT_A_KEY),
    case(
        "draw-number", lambda: sx.Particles.draw(FIELD, 0, key=KEY), V, "particles must be", "got 0"
    ),
    case(
        "draw-momentum",
        lambda: sx.Particles.draw(FIELD, 3, momentum="a", key=KEY),
        *(V, "momentum must be", "'a'"),
    ),
    case(
        "draw-form",
        lambda: sx.Particles.draw(FIELD, 3, form=3, key=KEY),
        V,
        "Unknown form 3",
        "auto",
    ),
    case("ensemble-shapes", lambda: sx.Ensemble(Z, X), V, "same shapes", "q: (4, 8)", "p: (4, 2)"),
    case("ensemble-on", lambda: sx.Ensemble.on(None, key=KEY), V, "at least one particle"),
    case(
        "ensemble-other",
        lambda: sx.Particles(sx.Affine(2), DRAWN),
        V,
        "states of the field",
        "(8,)",
    ),
    case("gaussian", lambda: sx.Gaussian("a"), V, "std must be", "'a'"),
    case("uniform", lambda: sx.Uniform(1.0, 0.0), V, "low < high", "low=1.0"),
    case("from-data-text", lambda: sx.FromData("a"), V, "x must hold numbers"),
    case("from-data-flat", lambda: sx.FromData(np.ones(3)), V, "(samples, dim)", "(3,)"),
]

FIELDS = [
    case("dim-zero", lambda: sx.Affine(0), V, "dim must be a whole number", "got 0"),
    case("dim-text", lambda: sx.Affine("2"), V, "dim must be a whole number", "got '2'"),
    case("dim-none", lambda: sx.UpDown(None), V, "dim must be a whole number", "got None"),
    case("inflation", lambda: sx.UpDown(2, -1), V, "inflation must be", "got -1"),
    case("activation", lambda: sx.Affine(2, activation=3), V, "Unknown activation 3", "tanh"),
    case("activation-name", lambda: sx.UpDown(2, activation="rleu"), V, "'rleu'", "relu"),
    case("general", lambda: sx.GeneralUpDown(0), V, "dim must be", "got 0"),
    case("damping", lambda: sx.DampedUpDown(2, damping="a"), V, "damping must be", "'a'"),
    case("conv-channels", lambda: sx.ConvAffine(0, (4, 4)), V, "channels must be", "got 0"),
    case("conv-size", lambda: sx.ConvAffine(1, (0, 4)), V, "size must be", "got 0"),
    case("conv-updown", lambda: sx.ConvUpDown(1, (4, 4), inflation=0), V, "inflation must be"),
    case("rkhs-dim", lambda: sx.RKHS(0), V, "dim must be", "got 0"),
    case("width", lambda: sx.SingleHiddenLayer(2, 0), V, "width must be", "got 0"),
    case(
        "function-field",
        lambda: sx.FunctionField(lambda z, t: z[:1], state=sx.shape(2), theta=sx.shape(2)),
        *(V, "velocity shaped like its state", "expected (2,)", "got (1,)"),
    ),
    case("strength-text", lambda: sx.Quadratic(default="a"), V, "default must be", "'a'"),
    case("strength-zero", lambda: sx.Quadratic(theta1=0), V, "theta1 must be a positive", "got 0"),
    case("matrix-flat", lambda: sx.Quadratic(A=np.ones(2)), V, "square matrix", "(2,)"),
    case("barron", lambda: sx.Barron("a"), V, "must be a positive number", "'a'"),
    case("transport", lambda: sx.Transport(ridge=-1), V, "ridge must be", "got -1"),
    case("kernel-zero", lambda: kernels.GaussianKernel(0), V, "scale must be", "got 0"),
    case("laplace-zero", lambda: kernels.LaplaceKernel(0), V, "scale must be", "got 0"),
    case("multiquadric-zero", lambda: kernels.InverseMultiquadric(0), V, "scale must be", "got 0"),
    case("kernel-text", lambda: kernels.LaplaceKernel("a"), V, "scale must be", "'a'"),
    case("kernel-none", lambda: kernels.InverseMultiquadric(None), V, "scale must be", "None"),
    case("sum-empty", lambda: kernels.SumKernel(), V, "at least one kernel", "got 0"),
    case(
        "sum-number",
        lambda: kernels.SumKernel(3),
        T,
        "must be an instance of AbstractKernel",
        "got 3",
    ),
    case(
        "sum-class", lambda: kernels.SumKernel(kernels.LaplaceKernel), T, "the class LaplaceKernel"
    ),
    case(
        "sum-weights",
        lambda: kernels.SumKernel(kernels.LaplaceKernel(), weights=3),
        *(T, "weights must be a tuple", "got 3"),
    ),
    case(
        "sum-negative",
        lambda: kernels.SumKernel(kernels.LaplaceKernel(), weights=(-1,)),
        *(V, "must be a positive", "got -1"),
    ),
    case(
        "newton", lambda: maximisers.Newton(max_iterations=0), V, "max_iterations must be", "got 0"
    ),
    case("unrolled", lambda: maximisers.Unrolled(steps=0), V, "steps must be", "got 0"),
    case("per-neuron", lambda: maximisers.PerNeuron(starts=0), V, "starts must be", "got 0"),
]
