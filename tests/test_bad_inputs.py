"""What users hand in by mistake, over the whole public API: each is refused in our own words.

A case is a name, a call, the exception, and words of its message. None of them compiles a program:
errors come first. Trained and stored things that a case needs are made once, below.
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
from shootax import data, export, kernels, maximisers, nn
from shootax.sklearn import ShootingClassifier, ShootingRegressor


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
    sx.Stagewise(STATIC.control.theta, STATIC.control.penalty, (0.0,), (1.0,), 1.0),
)
IMAGES = sx.Net(sx.ConvAffine(1, (4, 4)), particles=2, key=KEY)
DRAWN = NET.control.ensemble
X = np.ones((4, 2))
Z = np.ones((4, 8))
FRAMES = data.Sequences(np.ones((2, 3, 1)))
V, T = ValueError, TypeError
NOT_A_KEY = ("key must be one JAX random key", "jax.random.key(0)", "got 0")


def ident(x):
    return x


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
    case("kernel-text", lambda: kernels.LaplaceKernel("a"), V, "scale must be", "'a'"),
    case("kernel-none", lambda: kernels.InverseMultiquadric(None), V, "scale must be", "None"),
    case("sum-empty", lambda: kernels.SumKernel(), V, "at least one kernel", "got 0"),
    case("sum-number", lambda: kernels.SumKernel(3), T, "AbstractKernel", "got 3"),
    case("sum-class", lambda: kernels.SumKernel(kernels.LaplaceKernel), T, "LaplaceKernel(...)"),
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

MEASURES = [
    case("theta-old", lambda: sx.theta_path(FIELD, NET.control), T, "instance of Net", "a UpDown"),
    case("theta-swapped", lambda: sx.theta_path([0.5], NET), T, "instance of Net", "[0.5]"),
    case("theta-control", lambda: sx.theta_path(NET.control, [0.5]), T, "Net", "a Particles"),
    case("theta-chain", lambda: sx.theta_path(sx.Chain(NET), [0.5]), T, "Net", "a Chain"),
    case("theta-baked", lambda: sx.theta_path(BAKED, [0.5]), V, "net.control.theta", "original"),
    case("theta-scalar", lambda: sx.theta_path(NET, 0.5), V, "shape (times,)", "got shape ()"),
    case("theta-none", lambda: sx.theta_path(NET, None), V, "shape (times,)"),
    case("theta-text", lambda: sx.theta_path(NET, "0.5"), V, "times must hold numbers"),
    case("theta-late", lambda: sx.theta_path(NET, [2.0]), V, "[0, T] = [0, 1]", "larger T"),
    case(
        "particles-static", lambda: sx.particle_path(STATIC, [0.5]), V, "particles move", "Static"
    ),
    case("particles-net", lambda: sx.particle_path(FIELD, [0.5]), T, "instance of Net"),
    case("particles-late", lambda: sx.particle_path(NET, [2.0]), V, "[0, T] = [0, 1]"),
    case("energy-static", lambda: sx.hamiltonian_path(STATIC), V, "particles move", "Static"),
    case("energy-order", lambda: sx.hamiltonian_path(NET, [0.5, 0.1]), V, "sorted and increasing"),
    case("drift-none", lambda: sx.hamiltonian_drift(None), T, "instance of Net", "got None"),
    case("summary-none", lambda: sx.summary(None), T, "instance of Net", "got None"),
    case("summary-chain", lambda: sx.summary(sx.Chain(NET)), T, "instance of Net", "a Chain"),
    case("complexity-none", lambda: sx.complexity(None), T, "instance of Net", "got None"),
    case("complexity-norm", lambda: sx.complexity(NET, None), V, "Unknown norm None", "nuclear"),
    case("penalty-number", lambda: sx.penalty(3), V, "int has no Net in it", "Give a Net"),
    case("break-even", lambda: sx.break_even(3, 4), T, "field must be", "got 3"),
    case("break-even-layers", lambda: sx.break_even(FIELD, 0), V, "layers must be", "got 0"),
    case("bake-number", lambda: sx.bake(3), V, "no net to bake in int", "Give a Net"),
    case("bake-none", lambda: sx.bake(None), V, "no net to bake"),
    case("bake-adaptive", lambda: sx.bake(NET, integrator=sx.Tsit5()), V, "no fixed stages", "RK4"),
    case(
        "bake-class", lambda: sx.bake(NET, integrator=sx.RK4), T, "integrator must be", "RK4(...)"
    ),
    case("bake-twice", lambda: sx.bake(BAKED), V, "baked already"),
    case("report-number", lambda: sx.bake_report(3, X), T, "instance of Net", "got 3"),
    case("within-number", lambda: sx.bake_within(3, X), T, "instance of Net", "got 3"),
    case("within-tolerance", lambda: sx.bake_within(NET, X, tolerance=-1), V, "tolerance must be"),
    case("predict-number", lambda: sx.predict(3, X), T, "model must be", "got 3"),
    case("predict-none", lambda: sx.predict(STATIC, None), T, "x must be an array", "None"),
    case(
        "predict-batch", lambda: sx.predict(NET, X, batch_size=0), V, "batch_size must be", "got 0"
    ),
    case("cache-number", lambda: sx.use_compilation_cache(3), T, "folder must be a path", "got 3"),
]

LAYERS = [
    case("mlp-size", lambda: nn.MLP(0, 1, 1, key=KEY), V, "inputs must be", "got 0"),
    case("mlp-key", lambda: nn.MLP(2, 1, 1, key=0), T, *NOT_A_KEY),
    case("mlp-input", lambda: nn.MLP(2, 1, 1, key=KEY)(np.ones((4, 3))), V, "2 numbers", "(4, 3)"),
    case("encoder-key", lambda: nn.ImageEncoder(5, key=0), T, *NOT_A_KEY),
    case("encoder-dim", lambda: nn.ImageEncoder(0, key=KEY), V, "dim must be", "got 0"),
    case(
        "encoder-channels", lambda: nn.ImageEncoder(5, channels=3, key=KEY), T, "sequence", "got 3"
    ),
    case("encoder-zero", lambda: nn.ImageEncoder(5, channels=(0,), key=KEY), V, "channels must be"),
    case(
        "encoder-norm", lambda: nn.ImageEncoder(5, norm="batch", key=KEY), V, "Unknown norm 'batch'"
    ),
    case(
        "encoder-images",
        lambda: nn.ImageEncoder(5, size=8, channels=(2,), key=KEY)(np.ones((3, 8, 8))),
        *(V, "(batch, 1, 8, 8)", "got (3, 8, 8)", "x[:, None]"),
    ),
    case(
        "decoder-points",
        lambda: nn.ImageDecoder(5, size=8, channels=(2,), key=KEY)(np.ones((3, 4))),
        *(V, "(batch, 5)", "got (3, 4)"),
    ),
    case(
        "latent-encoder", lambda: nn.LatentModel(3, NET, ident, [0.0]), T, "encoder must", "got 3"
    ),
    case("latent-net", lambda: nn.LatentModel(ident, ident, ident, [0.0]), T, "net must be"),
    case("latent-text", lambda: nn.LatentModel(ident, NET, ident, "abc"), V, "times must hold"),
    case(
        "latent-late", lambda: nn.LatentModel(ident, NET, ident, [0, 2]), V, "0 ≤ t ≤ 1", "larger T"
    ),
    case(
        "kernel-even", lambda: nn.Downsample(1, 1, 4, key=KEY), V, "must be odd", "got 4", "Use 5"
    ),
    case("upsample-key", lambda: nn.Upsample(1, 1, key=0), T, *NOT_A_KEY),
    case("layer-norm", lambda: nn.LayerNorm(0), V, "channels must be", "got 0"),
    case("transition", lambda: nn.Transition(3, key=KEY), V, "must be a pair", "got 3"),
    case("reduction", lambda: nn.Transition((1, 2), reduce="max", key=KEY), V, "Unknown reduction"),
    case(
        "resnet-empty", lambda: nn.resnet((), inputs=1, classes=2, key=KEY), V, "at least one net"
    ),
    case(
        "resnet-field", lambda: nn.resnet((NET,), inputs=1, classes=2, key=KEY), T, "AbstractConv"
    ),
    case(
        "resnet-inputs",
        lambda: nn.resnet((IMAGES,), inputs=0, classes=2, key=KEY),
        V,
        "inputs must",
    ),
    case("passing-static", lambda: nn.ParticleChain((STATIC,), ()), V, "need particles", "Static"),
    case("passing-count", lambda: nn.ParticleChain((NET,), (ident,)), V, "0 transitions", "got 1"),
    case("linear-lift", lambda: nn.LinearLift(0, 2, key=KEY), V, "inputs must be", "got 0"),
    case("linear-readout", lambda: nn.LinearReadout(2, 0, key=KEY), V, "out must be", "got 0"),
]

DATA = [
    case("annuli-number", lambda: data.annuli(0, 2, seed=0), V, "number of points", "got 0"),
    case("annuli-seed", lambda: data.annuli(1, 2, seed="a"), V, "seed must be", "'a'"),
    case(
        "function-name", lambda: data.sample_function("sine", 3, 0), V, "Unknown function", "cubic"
    ),
    case("function-seed", lambda: data.sample_function("cubic", 3, -1), V, "seed must be", "-1"),
    case("spiral-points", lambda: data.spiral(0), V, "points must be", "got 0"),
    case("snippets-curve", lambda: data.SpiralSnippets(3), T, "curve must be", "spiral()"),
    case("balls-number", lambda: data.bouncing_balls(0), V, "sequences must be", "got 0"),
    case("balls-seed", lambda: data.bouncing_balls(1, seed="a"), V, "seed must be", "'a'"),
    case("sequences-flat", lambda: data.Sequences(X), V, "(n, time, ...)", "frames[:, :, None]"),
    case("sequences-times", lambda: data.Sequences(X[..., None], [0]), V, "2 numbers", "got [0]"),
    case(
        "sequences-text", lambda: data.Sequences(X[..., None], ["a", "b"]), V, "must hold numbers"
    ),
    case("sequences-mask", lambda: data.Sequences(X[..., None], mask=[1]), V, "mask must", "(1,)"),
    case("sequences-split", lambda: FRAMES.split(0), V, "0 < first < 2", "got 0"),
    case("sequences-first", lambda: FRAMES.first(9), V, "first 9 frames", "Ask for fewer"),
    case("masked-frames", lambda: data.MaskedFrames(3), T, "sequences must be", "got 3"),
    case(
        "masked-hidden", lambda: data.MaskedFrames(FRAMES, hidden=9), V, "hidden must be", "got 9"
    ),
]

FILES = [
    case(
        "save-folder", lambda p: sx.save(p / "no" / "x", NET), FileNotFoundError, "Create it first"
    ),
    case(
        "save-directory", lambda p: sx.save(p, NET), IsADirectoryError, "is a folder", "name of a"
    ),
    case(
        "save-none",
        lambda p: sx.save(None, NET),
        T,
        "path must be",
        "got None",
        "save(path, model)",
    ),
    case("save-swapped", lambda p: sx.save(NET, p / "x"), T, "path must be", "a Net", "save(path"),
    case(
        "save-set", lambda p: sx.save(p / "x", NET, record={"a": {1}}), V, "as JSON", "set", "lists"
    ),
    case("save-record", lambda p: sx.save(p / "x", NET, record=3), T, "record must be", "got 3"),
    case(
        "save-lambda", lambda p: sx.save(p / "x", lambda x: x), V, "cannot be written", "top level"
    ),
    case("load-nothing", lambda p: sx.load(p / "x"), sx.FileFormatError, "does not exist"),
    case("load-folder", lambda p: sx.load(p), sx.FileFormatError, "is a folder"),
    case("load-none", lambda p: sx.load(None), T, "path must be", "got None"),
    case("load-known", lambda p: sx.load(p / "x", known=[3]), T, "classes and functions", "got 3"),
    case(
        "load-number", lambda p: sx.load(p / "x", known=3), T, "must be a list", "known=[MyField]"
    ),
    case("load-text", lambda p: sx.load(p / "x", known="Net"), T, "must be a list", "'Net'"),
    case("record-number", lambda p: sx.load_record(3), T, "path must be", "got 3"),
    case("register-name", lambda p: sx.register("Name"), V, "must have a dot", "'Name'"),
    case("register-class", lambda p: sx.register("a.B")(3), T, "for classes", "got 3"),
    case("export-format", lambda p: export.write(NET, p / "x", to="pickle"), V, "Unknown format"),
    case(
        "export-path", lambda p: export.write(NET, None, to="numpy"), T, "path must be", "got None"
    ),
    case(
        "export-folder",
        lambda p: export.write(NET, p / "no" / "x.npz", to="numpy"),
        *(FileNotFoundError, "there is no folder", "Create it first"),
    ),
]

TRAINING = [
    case("fit-epochs", lambda: sx.fit(NET, X, X, epochs="3"), V, "epochs must be", "'3'"),
    case(
        "fit-nothing", lambda: sx.fit(NET, None, None), V, "data are empty", "at least one sample"
    ),
    case(
        "fit-lengths", lambda: sx.fit(NET, X, X[:3]), V, "same number of samples", "(4,) and (3,)"
    ),
    case("fit-many-none", lambda: sx.fit_many([], X, X), V, "no nets to train"),
    case(
        "regressor-particles",
        lambda: ShootingRegressor(particles=0).fit(X, X[:, 0]),
        V,
        "particles",
    ),
    case("regressor-unfitted", lambda: ShootingRegressor().predict(X), V, "not fitted yet"),
    case("regressor-target", lambda: ShootingRegressor().fit(X, None), V, "requires y"),
    case("classifier-unfitted", lambda: ShootingClassifier().predict(X), V, "not fitted yet"),
]

ALL = [*NETS, *INPUTS, *INTEGRATORS, *CONTROLS, *FIELDS, *MEASURES, *LAYERS, *DATA, *TRAINING]


def check(case: Case, *args: Any) -> None:
    with pytest.raises(case.error) as caught:
        case.call(*args)
    missing = [words for words in case.words if words not in str(caught.value)]
    assert not missing, str(caught.value)


@pytest.mark.parametrize("case", ALL)
def test_refused(case):
    check(case)


@pytest.mark.parametrize("case", FILES)
def test_refused_with_files(case, tmp_path):
    check(case, tmp_path)


def test_there_are_many():
    assert len(ALL) + len(FILES) >= 150
    assert len({param.id for param in [*ALL, *FILES]}) == len(ALL) + len(FILES)
