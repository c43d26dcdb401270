"""Models in files come back bit by bit, and any other file is refused with a reason."""

import json
import pathlib
import pickle
import subprocess
import sys

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

import shootax as sx
from cases import (
    CONTROLS,
    FIELDS,
    KEY,
    KNOWN,
    assert_same,
    cast,
    inputs,
    make_net,
    rewrite_header,
    spd,
)
from shootax._storage import FORMAT


def cube(x):
    return x**3


def round_trip(model, path, known=()):
    sx.save(path, model)
    return sx.load(path, known=known)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


@pytest.fixture
def written(path):
    """A small model in a file."""
    sx.save(path, make_net("affine", "particles"))
    return path


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("control", CONTROLS)
@pytest.mark.parametrize("field", FIELDS)
def test_round_trip_is_exact_for_every_field_and_control(field, control, dtype, path):
    net = cast(make_net(field, control, T=1.3), dtype)
    assert_same(net, round_trip(net, path, KNOWN))


def test_a_loaded_net_gives_the_same_output(path):
    net = make_net("updown", "particles")
    x = inputs(net.field)
    assert_same(round_trip(net, path)(x), net(x))


@pytest.mark.parametrize(
    "integrator",
    [
        sx.Euler(steps=3),
        sx.Heun(steps=3, gradient=sx.Checkpointed()),
        sx.RK4(steps=3, gradient=sx.Reversed(max_iterations=7)),
        sx.ImplicitMidpoint(max_iterations=9),
        sx.SymplecticEuler(),
        sx.Dopri5(rtol=1e-3),
        sx.Tsit5(atol=1e-9, gradient=sx.Direct()),
    ],
    ids=lambda integrator: type(integrator).__name__,
)
def test_integrators_come_back(integrator, path):
    net = make_net("affine", "static", integrator=integrator)
    assert round_trip(net, path).integrator == integrator


@pytest.mark.parametrize("name", ["relu", "tanh", "softplus", "sigmoid", "gelu", "identity"])
def test_activations_come_back(name, path):
    net = sx.Net(sx.UpDown(1, 2, activation=name), particles=2, lift="mlp", key=KEY)
    assert_same(net, round_trip(net, path))


@pytest.mark.parametrize("lift", ["affine", "zero", "constant", "mlp"])
@pytest.mark.parametrize("readout", ["x", "identity", 3])
def test_lifts_and_readouts_come_back(lift, readout, path):
    net = sx.Net(sx.UpDown(2, 2), particles=2, lift=lift, readout=readout, key=KEY)
    assert_same(net, round_trip(net, path))


def test_matrices_of_the_penalty_come_back(path):
    penalty = sx.Quadratic(A=spd(2), b=spd(2, seed=1), default=3.0)
    net = make_net("affine", "particles", penalty=penalty)
    loaded = round_trip(net, path)
    assert loaded.control.penalty == penalty
    assert_same(net, loaded)
    np.testing.assert_array_equal(sx.penalty(loaded), sx.penalty(net))


def test_chains_come_back(path):
    chain = sx.Chain(make_net("updown", "particles"), make_net("affine", "piecewise"))
    assert_same(chain, round_trip(chain, path))


@pytest.mark.parametrize("field", ["updown", "pendulum"])
def test_baked_nets_come_back(field, path):
    baked = sx.bake(make_net(field, "particles"))
    loaded = round_trip(baked, path, KNOWN)
    x = inputs(baked.field)
    assert_same(baked, loaded)
    assert_same(baked(x), loaded(x))


def test_modules_of_other_libraries_come_back(path):
    field = sx.Affine(2, activation=cube)
    net = sx.Net(field, particles=2, readout=eqx.nn.Linear(2, 1, key=KEY), key=KEY)
    loaded = round_trip(net, path, [eqx.nn.Linear, cube])
    assert loaded.field.activation is cube
    assert_same(net, loaded)


def test_trees_of_plain_values_come_back(path):
    model = {"a": [1, 2.5, None, True], "b": (jnp.arange(3), "text", {"c": jnp.float32(1)})}
    loaded = round_trip(model, path)
    assert loaded["a"] == [1, 2.5, None, True]
    assert_same(model, loaded)


def test_the_record_is_kept(path):
    sx.save(path, make_net("affine", "static"), record={"epochs": 3, "note": "é"})
    record = sx.load_record(path)
    assert len(record.pop("checksum")) == 64
    assert record == {"version": sx.__version__, "epochs": 3, "note": "é"}


def test_the_record_of_one_model_can_be_that_of_another(path):
    sx.save(path, make_net("affine", "static"), record={"epochs": 3})
    first = sx.load_record(path)
    sx.save(path, make_net("affine", "particles"), record=first)
    second = sx.load_record(path)
    assert second["epochs"] == 3
    assert second["checksum"] != first["checksum"]


def test_a_record_that_json_cannot_hold(path):
    with pytest.raises(sx.FileFormatError, match="record cannot be written as JSON"):
        sx.save(path, make_net("affine", "static"), record={"now": object()})
    assert not path.exists()


def test_places_that_are_no_place_for_a_file(tmp_path):
    net = make_net("affine", "static")
    with pytest.raises(FileNotFoundError, match=r"no folder .*missing. Create it"):
        sx.save(tmp_path / "missing" / "net.safetensors", net)
    with pytest.raises(IsADirectoryError, match="is a folder, expected the name of a file"):
        sx.save(tmp_path, net)
    with pytest.raises(sx.FileFormatError, match="is a folder"):
        sx.load(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_other_programs_can_read_the_arrays(written):
    tensors = safetensors.numpy.load_file(written)
    net = make_net("affine", "particles")
    np.testing.assert_array_equal(tensors["control.ensemble.q"], net.control.ensemble.q)


def test_double_precision_is_not_rounded_in_silence(written, tmp_path):
    """In a process that is set to single precision, loading says so, and says it of no other file:
    matrices of the penalty are always in double precision."""
    single = cast(make_net("affine", "particles", penalty=sx.Quadratic(A=spd(2))), np.float32)
    sx.save(tmp_path / "single", single)
    code = (
        "import shootax, warnings; "
        f"shootax.load({str(written)!r}); "
        "warnings.simplefilter('error'); "
        f"shootax.load({str(tmp_path / 'single')!r})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stderr.count("holds double precision") == 1


def test_missing_file(path):
    with pytest.raises(sx.FileFormatError, match="There is no model file"):
        sx.load(path)


@pytest.mark.parametrize("part", [0, 4, 100, 0.5, -1])
def test_truncated_file(written, part):
    content = written.read_bytes()
    keep = int(part * len(content)) if isinstance(part, float) else part
    written.write_bytes(content[:keep])
    with pytest.raises(sx.FileFormatError, match="cut short or damaged"):
        sx.load(written)


@pytest.mark.parametrize(
    "content",
    [b"not a model", b"\x00" * 64, b"\xff" * 64, b"PK\x03\x04" + b"zip" * 50],
    ids=["text", "zeros", "ones", "zip"],
)
def test_file_that_is_something_else(path, content):
    path.write_bytes(content)
    with pytest.raises(sx.FileFormatError, match="not a model file"):
        sx.load(path)


def test_every_damaged_byte_of_the_header_is_noticed(written):
    """A byte of the header changed on the way is a clear error, wherever it is."""
    content = written.read_bytes()
    header = int.from_bytes(content[:8], "little")
    text = len(content[: 8 + header].rstrip())
    for place in np.random.default_rng(0).choice(text, 60, replace=False):
        spoiled = bytes([content[place] ^ 0xFF])
        written.write_bytes(content[:place] + spoiled + content[place + 1 :])
        with pytest.raises(sx.FileFormatError):
            sx.load(written)


class Bomb:
    """Leaves a mark if it is ever unpickled."""

    def __init__(self, mark):
        self.mark = mark

    def __reduce__(self):
        return (open, (str(self.mark), "w"))


def test_nothing_is_unpickled(path, tmp_path):
    mark = tmp_path / "mark"
    path.write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(sx.FileFormatError, match="not a model file"):
        sx.load(path)
    assert not mark.exists()


def test_safetensors_file_of_another_program(path):
    safetensors.numpy.save_file({"weight": np.zeros(3)}, path)
    with pytest.raises(sx.FileFormatError, match="from another program"):
        sx.load(path)
    safetensors.numpy.save_file({"weight": np.zeros(3)}, path, metadata={"format": "pt"})
    with pytest.raises(sx.FileFormatError, match="from another program"):
        sx.load(path)


def test_newer_format(written):
    rewrite_header(written, format=str(FORMAT + 1), version="9.9")
    with pytest.raises(sx.FileFormatError, match=r"written by shootax 9\.9.*Upgrade"):
        sx.load(written)


@pytest.mark.parametrize("missing", ["model", "format", "record", "version"])
def test_header_with_a_missing_entry(written, missing):
    rewrite_header(written, **{missing: None})
    with pytest.raises(sx.FileFormatError):
        sx.load_record(written) if missing in ("record", "version") else sx.load(written)


@pytest.mark.parametrize(
    "tree",
    [
        "{",
        json.dumps({"array": "nowhere"}),
        json.dumps({"module": "Net"}),
        json.dumps({"activation": "rleu"}),
        json.dumps({"strange": 1}),
        json.dumps({"module": "Net", "fields": {"lift": None}}),
    ],
)
def test_description_that_is_damaged(written, tree):
    rewrite_header(written, model=tree)
    with pytest.raises(sx.FileFormatError):
        sx.load(written)


def test_classes_are_not_looked_up_by_name(written):
    """A file that names any class or function of Python gets none of them."""
    for name in ("os.system", "builtins.eval", "subprocess.Popen"):
        for kind in ({"known": name}, {"module": name, "fields": {}}, {"namedtuple": name}):
            foreign = {"foreign": True} if name == "os.system" else {}
            rewrite_header(written, model=json.dumps({**kind, **foreign}))
            with pytest.raises(sx.FileFormatError, match=f"needs {name}"):
                sx.load(written)


def test_a_class_that_was_not_handed_over(path):
    sx.save(path, make_net("rotor", "particles"))
    with pytest.raises(sx.FileFormatError, match=r"cases\.Rotor.*known=\[Rotor\]"):
        sx.load(path)


def test_a_function_without_a_name_cannot_be_saved(path):
    net = sx.Net(sx.Affine(2, activation=lambda x: x**2), particles=2, key=KEY)
    with pytest.raises(sx.FileFormatError, match=r"at field\.activation, which cannot be written"):
        sx.save(path, net)
    assert not path.exists()


@pytest.mark.parametrize("where", ["model", "disk"])
def test_a_failed_save_leaves_the_old_file(written, where, monkeypatch):
    before = written.read_bytes()
    net = make_net("updown", "particles")
    if where == "model":
        net = eqx.tree_at(lambda n: n.readout, net, object())
    else:

        def full(*args, **kwargs):
            raise OSError("disk full")

        monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    with pytest.raises((sx.FileFormatError, OSError), match=r"cannot be written|disk full"):
        sx.save(written, net)
    assert written.read_bytes() == before
    assert [file.name for file in written.parent.iterdir()] == [written.name]


def test_save_replaces_the_old_file_and_leaves_nothing_else(written):
    net = make_net("updown", "static")
    sx.save(written, net)
    assert_same(sx.load(written), net)
    assert [file.name for file in written.parent.iterdir()] == [written.name]


def test_saved_files_have_ordinary_permissions(written, tmp_path):
    """Others may read a model as they may read any new file."""
    plain = tmp_path / "plain"
    plain.touch()
    assert written.stat().st_mode == plain.stat().st_mode


def test_stacked_nets_come_back(path):
    nets = eqx.filter_vmap(lambda key: sx.Net(sx.UpDown(1, 2), particles=2, key=key))(
        jax.random.split(KEY, 3)
    )
    assert_same(nets, round_trip(nets, path))


def test_a_file_keeps_the_penalty_it_was_written_with(tmp_path):
    """Not the default of the version that reads it."""
    field = sx.ConvUpDown(1, (4,))
    control = sx.Particles.draw(field, 2, penalty=sx.Quadratic(), key=KEY)
    sx.save(tmp_path / "model.safetensors", sx.Net(field, control, key=KEY))
    loaded = sx.load(tmp_path / "model.safetensors")
    assert loaded.control.penalty.strength("theta3") == 1


def test_a_file_without_a_part_that_has_a_default(tmp_path):
    """As an earlier version wrote it: an encoder did not know its size."""
    path = tmp_path / "model.safetensors"
    sx.save(path, sx.nn.ImageEncoder(3, size=9, channels=(2,), key=KEY))
    with safetensors.safe_open(path, framework="numpy") as file:
        tree = json.loads(file.metadata()["model"])
    assert tree["fields"].pop("size") == 9
    rewrite_header(path, model=json.dumps(tree))
    loaded = sx.load(path)
    assert loaded.size is None
    assert loaded(jnp.ones((2, 1, 9, 9))).shape == (2, 3)
    del tree["fields"]["bias"]
    rewrite_header(path, model=json.dumps(tree))
    with pytest.raises(sx.FileFormatError, match="lacks the field 'bias'"):
        sx.load(path)
