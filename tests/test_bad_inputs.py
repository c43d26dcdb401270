"""What users hand in by mistake, over the whole public API: each is refused in our own words.

None of the cases compiles a program: errors come first. Those of models are in `bad_models`.
"""

from typing import Any

import numpy as np
import pytest

import shootax as sx
from bad_models import (
    BAKED,
    CONTROLS,
    FIELD,
    FIELDS,
    IMAGES,
    INPUTS,
    INTEGRATORS,
    NET,
    NETS,
    NOT_A_KEY,
    STATIC,
    Case,
    T,
    V,
    X,
    case,
)
from cases import KEY
from shootax import data, export, extend, nn
from shootax import maximisers as mx
from shootax.sklearn import ShootingClassifier, ShootingRegressor

FRAMES = data.Sequences(np.ones((2, 3, 1)))


def ident(x):
    return x


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
    case("convolution-even", lambda: nn.Convolution(1, 1, 2, key=KEY), V, "must be odd", "Use 3"),
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
        "resnet-stem",
        lambda: nn.resnet((IMAGES,), inputs=1, classes=2, stem=3, key=KEY),
        *(T, "stem must be", "got 3"),
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
    case("sequences-first", lambda: FRAMES.first(9), V, "first 9 frames", "Use a smaller number"),
    case("masked-late", lambda: data.MaskedFrames(FRAMES, never=(99,)), V, "0 to", "got 99"),
    case("masked-early", lambda: data.MaskedFrames(FRAMES, never=(-1,)), V, "Each index in never"),
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
    case("register-name", lambda p: sx.register("Name"), V, "must contain a dot", "'Name'"),
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

SETTINGS = [
    case("shape-negative", lambda: sx.shape(-1), V, "size of an axis must be", "got -1"),
    case("shape-text", lambda: sx.shape("a"), V, "size of an axis must be", "'a'"),
    case("uniform-text", lambda: sx.Uniform("a", "b"), V, "low must be a number", "'a'"),
    case("newton-tolerance", lambda: mx.Newton(tolerance=-1), V, "tolerance must be", "got -1"),
    case("newton-seed", lambda: mx.QuasiNewton(seed="a"), V, "seed must be", "'a'"),
    case("vertex-spread", lambda: mx.VertexSearch(spread=0), V, "spread must be", "got 0"),
    case("closed-drift", lambda: mx.ClosedForm(drift=None), V, "drift must be True or False"),
    case("updown-theta3", lambda: sx.UpDown(2, theta3="yes"), V, "theta3 must be", "'yes'"),
    case("layer-bias", lambda: sx.SingleHiddenLayer(2, 3, bias=1), V, "bias must be True or False"),
    case("linearity", lambda: sx.linearity(3), T, "field must be an instance", "got 3"),
    case("infer-layout", lambda: extend.infer_layout(3), T, "field must be an instance", "got 3"),
    case("sparse-groups", lambda: sx.BlockSparse(3), T, "groups must be a sequence", "got 3"),
    case("sparse-links", lambda: sx.BlockSparse((2, 2), "ab"), T, "links must be", "'ab'"),
    case(
        "function-field-number",
        lambda: sx.FunctionField(3, state=sx.shape(2), theta=sx.shape()),
        *(T, "function must be a function", "got 3"),
    ),
    case(
        "function-state",
        lambda: sx.FunctionField(ident, state="a", theta=sx.shape()),
        *(T, "state must be shapes", "'a'"),
    ),
    case("layout-parts", lambda: extend.Layout({"x": 0}, (), ()), V, "size of part 'x' must be"),
    case(
        "layout-target",
        lambda: extend.Layout(
            {"x": 2}, (extend.Feature("s", "x"),), (extend.Block("A", "y", "s"),)
        ),
        *(V, "Unknown target of the block 'A'", "Choose one of: x"),
    ),
    case("cosine-text", lambda: sx.Cosine(warmup="a"), V, "warmup of Cosine must be", "'a'"),
    case("plateau-floor", lambda: sx.Plateau(floor=-1), V, "floor of Plateau must be", "got -1"),
    case("validation-fraction", lambda: sx.Validation(-0.1), V, "between 0 and 1", "-0.1"),
    case("true-is-no-number", lambda: sx.Transport(ridge=True), V, "ridge must be", "True"),
    case("compress-net", lambda: sx.compress(3), T, "net must be an instance of Net", "got 3"),
    case("affine-lift", lambda: nn.AffineLift(0, 2, key=KEY), V, "dim must be", "got 0"),
    case("affine-lift-key", lambda: nn.AffineLift(1, 2, key=0), T, *NOT_A_KEY),
    case("transition-groups", lambda: nn.Transition((3, 2), groups=2, key=KEY), V, "must divide"),
    case("maximise-field", lambda: mx.maximise(3, sx.Quadratic(), X, X), T, "field must be"),
    case("maximise-shape", lambda: mx.maximise(FIELD, sx.Quadratic(), X, X), V, "q must be states"),
    case(
        "maximise-penalty",
        lambda: mx.maximise(sx.RKHS(1), sx.Quadratic(), X[:, :1], X[:, :1]),
        *(V, "no penalty for RKHS"),
    ),
    case("checkpoint-path", lambda: extend.Checkpoint(3), T, "path must be", "got 3"),
]

TRAINING = [
    case("fit-number", lambda: sx.fit(3, X, X), V, "must be a model", "fit(net, x, y)"),
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
    case(
        "draw-key",
        lambda: sx.Particles.draw(sx.UpDown(1), 3, key=0),
        TypeError,
        "jax.random.key(0)",
    ),
    case("regressor-unfitted", lambda: ShootingRegressor().predict(X), V, "not fitted yet"),
    case("regressor-target", lambda: ShootingRegressor().fit(X, None), V, "requires y"),
    case("classifier-unfitted", lambda: ShootingClassifier().predict(X), V, "not fitted yet"),
]

ALL = [
    *NETS,
    *INPUTS,
    *INTEGRATORS,
    *CONTROLS,
    *FIELDS,
    *MEASURES,
    *LAYERS,
    *DATA,
    *SETTINGS,
    *TRAINING,
]


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
