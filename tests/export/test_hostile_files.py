"""A NumPy export is data: nothing in it can run code, and whatever is wrong has one kind of error."""

import copy
import hashlib
import io
import json
import pickle
import zipfile

import jax.export
import numpy as np
import pytest
import safetensors.numpy

import shootax as sx
from cases import KEY
from shootax.export import run_exported, write
from shootax.export.reader import ProgramError, load

GOOD = {"inputs": [["x", "float64"]], "items": [["tanh", ["x"], {}, "y"]], "outputs": ["y"]}


def file(tmp_path, program, **arrays):
    """A file with a program that is given as JSON, or as text."""
    path = tmp_path / "net.npz"
    text = program if isinstance(program, str) else json.dumps(program)
    np.savez(path, program=np.array(text), **arrays)
    return path


class Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (open, (self.path, "w"))


def test_a_plain_program_runs(tmp_path):
    x = np.ones((3, 2))
    np.testing.assert_array_equal(load(file(tmp_path, GOOD))(x), np.tanh(x))


def test_a_program_that_writes_a_pickle_and_loads_it(tmp_path):
    """`savetxt` could write any text to any file, and `load` run what it finds there."""
    planted, pwned = tmp_path / "planted.npy", tmp_path / "pwned"
    array = np.empty(1, object)
    array[0] = Touch(pwned)
    np.save(planted, array, allow_pickle=True)
    pickled = {"file": str(planted), "allow_pickle": True}
    text = {"fname": str(tmp_path / "out.txt"), "X": [1, 2]}
    items = [["savetxt", [], text, "a"], ["load", [], pickled, "b"]]
    for chosen in (items, items[:1], items[1:]):
        program = {**GOOD, "items": [*chosen, *GOOD["items"]]}
        with pytest.raises(ProgramError, match="there is no operation"):
            load(file(tmp_path, program))(np.ones((1, 1)))
    assert not pwned.exists()
    assert not (tmp_path / "out.txt").exists()


def test_a_program_that_reads_a_file(tmp_path):
    (tmp_path / "secret").write_bytes(b"12345678")
    options = {"file": str(tmp_path / "secret"), "dtype": "uint8"}
    program = {**GOOD, "items": [["fromfile", [], options, "y"]]}
    with pytest.raises(ProgramError, match="no operation 'fromfile'"):
        load(file(tmp_path, program))(np.ones((1, 1)))


def test_pickles_in_the_file_are_not_read(tmp_path):
    array = np.empty(1, object)
    array[0] = Touch(tmp_path / "pwned")
    for arrays in ({"w": array}, {}):
        path = tmp_path / "net.npz"
        np.savez(path, program=np.array(json.dumps(GOOD)) if arrays else array, **arrays)
        with pytest.raises(ProgramError):
            load(path)
    assert not (tmp_path / "pwned").exists()


NESTED = ["loop", ["x"], {}, ["y"]]
OPTIONS = {"counter": "k", "length": 2, "carried": ["a"], "body": [], "nexts": ["a"], "slices": []}

WRONG = {
    "unknown operation": [["system", ["x"], {}, "y"]],
    "a method": [["__class__", ["x"], {}, "y"]],
    "operation that is no text": [[["tanh"], ["x"], {}, "y"]],
    "operation that is an object": [[{"tanh": 1}, ["x"], {}, "y"]],
    "too many arrays": [["tanh", ["x", "x"], {}, "y"]],
    "too few arrays": [["add", ["x"], {}, "y"]],
    "no arrays": [["concatenate", [], {"axis": 0}, "y"]],
    "an option of NumPy": [["tanh", ["x"], {"out": "x"}, "y"]],
    "an option missing": [["sum", ["x"], {}, "y"]],
    "unknown value": [["tanh", ["z"], {}, "y"]],
    "value that is no name": [["tanh", [["x"]], {}, "y"]],
    "result that is no name": [["tanh", ["x"], {}, ["y"]]],
    "axis that is text": [["sum", ["x"], {"axis": "0"}, "y"]],
    "axis that is true": [["sum", ["x"], {"axis": True}, "y"]],
    "axis that is a fraction": [["sum", ["x"], {"axis": 0.0}, "y"]],
    "axis that is huge": [["sum", ["x"], {"axis": 10**30}, "y"]],
    "shape that is a number": [["reshape", ["x"], {"shape": 3}, "y"]],
    "size that is a number": [["reshape", ["x"], {"shape": [3]}, "y"]],
    "range of text": [["slice", ["x"], {"at": [["a", "b"]]}, "y"]],
    "range of one": [["slice", ["x"], {"at": [[1]]}, "y"]],
    "padding below zero": [["pad", ["x"], {"width": [[-1, 0]], "value": 0}, "y"]],
    "padding by text": [["pad", ["x"], {"width": [[1, 0]], "value": "0"}, "y"]],
    "products of anything": [["einsum", ["x", "x"], {"spec": "...->..."}, "y"]],
    "type of objects": [["astype", ["x"], {"dtype": "object"}, "y"]],
    "type of records": [["astype", ["x"], {"dtype": [["a", "f8"]]}, "y"]],
    "not an item": ["tanh"],
    "short item": [["tanh", ["x"]]],
    "items that are a number": 3,
    "items that are an object": {"tanh": "x"},
    "loop without options": [NESTED],
    "endless loop": [["loop", ["x"], {**OPTIONS, "length": 10**15}, ["y"]]],
    "loop of text": [["loop", ["x"], {**OPTIONS, "length": "2"}, ["y"]]],
    "loop that does not match": [["loop", ["x"], {**OPTIONS, "carried": []}, ["y"]]],
    "loop with unknown values": [["loop", ["x"], {**OPTIONS, "nexts": ["z"]}, ["y"]]],
    "loop with nothing to stack": [
        ["loop", ["x"], {**OPTIONS, "length": 0, "slices": ["a"]}, ["y", "z"]]
    ],
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_refused_when_loading(case, tmp_path):
    with pytest.raises(ProgramError, match="not a network that can be run"):
        load(file(tmp_path, {**GOOD, "items": WRONG[case]}))


RUNNING = {
    "reshape to another size": ["reshape", ["x"], {"shape": [[0, 7]]}, "y"],
    "negative shape": ["broadcast_to", ["x"], {"shape": [[0, -3], [0, 2]]}, "y"],
    "more memory than there is": ["broadcast_to", ["x"], {"shape": [[0, 2**61], [0, 2**61]]}, "y"],
    "axis out of range": ["sum", ["x"], {"axis": 5}, "y"],
    "range beyond the end": ["slice", ["x"], {"at": [[0, 1], [1, 9]]}, "y"],
    "range backwards": ["slice", ["x"], {"at": [[2, 1]]}, "y"],
    "too many ranges": ["slice", ["x"], {"at": [[0, 1]] * 3}, "y"],
    "axes twice": ["transpose", ["x"], {"axes": [0, 0]}, "y"],
    "letters for other axes": ["einsum", ["x", "x"], {"spec": "abc,ab->c"}, "y"],
    "start that is an array": ["piece", ["x", "x"], {"sizes": [[0, 1]]}, "y"],
    "product of other sizes": ["matmul", ["x", "x"], {}, "y"],
}


@pytest.mark.parametrize("case", RUNNING)
def test_what_is_wrong_with_shapes_is_refused_when_running(case, tmp_path):
    model = load(file(tmp_path, {**GOOD, "items": [RUNNING[case]]}))
    with pytest.raises(ProgramError, match="cannot be carried out"):
        model(np.ones((3, 2)))


def test_garbage_instead_of_a_program(tmp_path):
    deep = "[" * 200_000 + "]" * 200_000
    loops: list = GOOD["items"]
    for _ in range(60):
        loops = [["loop", ["x"], {**OPTIONS, "body": loops}, ["y"]]]
    programs = ["", "{", "3", "null", "[]", "{}", deep, '{"a":' * 99_999, "\udcff" * 3, "9" * 9999]
    programs += [{**GOOD, "inputs": value} for value in ([], 3, [3], [["x"]], [["x", "O"]], ["xy"])]
    programs += [{**GOOD, "outputs": value} for value in ([], 3, ["z"], [["x"]], {"x": 1})]
    programs += [{**GOOD, "items": loops}, {**GOOD, "more": 1}]
    for program in programs:
        with pytest.raises(ProgramError):
            load(file(tmp_path, program))


def test_files_that_are_none(tmp_path):
    path = tmp_path / "net.npz"
    good = file(tmp_path, GOOD, w=np.ones(50)).read_bytes()
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("program.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': 1}    ")
    single = io.BytesIO()
    np.save(single, np.ones(3))
    contents = [b"", b"PK", good[:100], good[:-30], pickle.dumps(3), zipped.getvalue()]
    for data in [*contents, single.getvalue()]:
        path.write_bytes(data)
        with pytest.raises(ProgramError):
            load(path)
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none.npz")
    np.savez(path, program=np.array(json.dumps(GOOD)), text=np.array("a"))
    with pytest.raises(ProgramError, match="'text' holds"):
        load(path)


def test_random_changes_have_one_kind_of_error(tmp_path):
    """Thousands of changes to a real file: it is refused, or it runs; nothing else happens."""
    field = sx.Affine(2, activation="tanh")
    net = sx.Net(field, sx.Static(field, key=KEY), integrator=sx.RK4(2), key=KEY)
    write(net, tmp_path / "good.npz", to="numpy")
    with np.load(tmp_path / "good.npz") as arrays:
        stored = dict(arrays)
    program, rng = str(stored.pop("program")), np.random.default_rng(0)
    values = ["", "x", "load", -1, 0, 2**70, 1.5, None, True, [], [[]], {}, {"axis": 0}, "float32"]
    outcomes = set()
    for _ in range(400):
        tree = json.loads(program)
        place = tree
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = keys[rng.integers(len(keys))]
            if not isinstance(place[key], dict | list) or rng.random() < 0.2:
                place[key] = values[rng.integers(len(values))]
                break
            place = place[key]
        try:
            load(file(tmp_path, tree, **stored))(np.ones((3, 2)))
            outcomes.add("ran")
        except ProgramError:
            outcomes.add("refused")
    assert "refused" in outcomes


def test_a_damaged_program_is_not_handed_to_the_compiler(tmp_path):
    path = tmp_path / "net.stablehlo"
    net = sx.Net(sx.UpDown(1, 1), particles=1, integrator=sx.Euler(1), key=KEY)
    write(net, path, to="stablehlo")
    x, data = np.ones((2, 1)), path.read_bytes()
    (wanted,) = run_exported(path, "stablehlo", x)
    assert jax.export.deserialize(bytearray(data)).in_avals[0].shape[1] == 1  # others read it, too
    changed = bytearray(data)
    changed[len(data) // 2] ^= 1
    for content, message in (
        (changed, "its checksum does not match"),
        (data[:-7], "does not end in a checksum"),
        (b"", "does not end in a checksum"),
        (_with_digest(b"nonsense"), "cannot be read as StableHLO"),
    ):
        path.write_bytes(bytes(content))
        with pytest.raises(sx.FileFormatError, match=message):
            run_exported(path, "stablehlo", x)
    path.write_bytes(data)
    np.testing.assert_array_equal(run_exported(path, "stablehlo", x)[0], wanted)
    with pytest.raises(sx.FileFormatError, match="There is no exported file"):
        run_exported(tmp_path / "none", "stablehlo", x)


def _with_digest(program):
    return program + b"shootax sha256: " + hashlib.sha256(program).digest()


def test_weights_for_pytorch_that_are_damaged_or_of_another_module(tmp_path):
    pytest.importorskip("torch")
    nets = [
        sx.Net(sx.UpDown(1, 1, activation=name), particles=1, integrator=sx.Euler(1), key=KEY)
        for name in ("tanh", "relu")
    ]
    paths = [write(net, tmp_path / f"m{i}.py", to="torch") for i, net in enumerate(nets)]
    (source, weights), x = paths[0], np.ones((2, 1))
    data = weights.read_bytes()
    (wanted,) = run_exported(source, "torch", x)
    tensors = int.from_bytes(data[:8], "little") + 8
    changed = bytearray(data)
    changed[tensors + 3] ^= 1
    other = paths[1][1].read_bytes()  # the same names and shapes, for another activation
    for content, message in (
        (changed, "checksum does not match"),
        (data[:-1], "checksum does not match"),
        (data[:100], "cannot be read as weights of this module"),
        (b"", "cannot be read as weights of this module"),
        (other, "belongs to another module"),
    ):
        weights.write_bytes(bytes(content))
        with pytest.raises(ValueError, match=message):
            run_exported(source, "torch", x)
    plain = safetensors.numpy.load(data)  # as a user writes them after training
    safetensors.numpy.save_file(plain, weights)
    np.testing.assert_array_equal(run_exported(source, "torch", x)[0], wanted)


@pytest.mark.parametrize("to", ["numpy", "stablehlo", "onnx", "torch"])
def test_files_and_inputs_that_do_not_fit_have_one_kind_of_error(to, tmp_path):
    pytest.importorskip({"onnx": "onnxruntime", "torch": "torch"}.get(to, "numpy"))
    ending = ".py" if to == "torch" else ".bin"
    path, x = tmp_path / f"m{ending}", np.ones((2, 1))
    with pytest.raises(ValueError, match="There is no exported file"):
        run_exported(path, to, x)
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError, match=path.name):
        run_exported(path, to, x)
    net = sx.Net(sx.UpDown(1, 1), particles=1, integrator=sx.Euler(1), key=KEY)
    write(net, path, to=to)
    for wrong in (np.ones((2, 4)), "text", (x, x)):
        with pytest.raises(ValueError, match=r"does not fit|does not have the shape|takes 1 array"):
            run_exported(path, to, wrong)


def test_a_part_of_the_archive_that_is_no_array(tmp_path):
    path = file(tmp_path, GOOD)
    for name in ("a.npy", "a", "program.npy"):
        with zipfile.ZipFile(path, "w") as archive:
            if not name.startswith("program"):
                stored = io.BytesIO()
                np.save(stored, np.array(json.dumps(GOOD)))
                archive.writestr("program.npy", stored.getvalue())
            archive.writestr(name, b"nonsense")
        with pytest.raises(ProgramError, match="is not an array"):
            load(path)


def test_a_small_file_cannot_claim_much_memory(tmp_path):
    """As a file that unpacks to a thousand times its size would, or one that lists an array often."""
    path, one = tmp_path / "net.npz", io.BytesIO()
    np.savez_compressed(path, program=np.array(json.dumps(GOOD)), a=np.zeros(10**6))
    with pytest.raises(ProgramError, match="claim more room than the file has"):
        load(path)
    np.save(one, np.zeros(1000))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", one.getvalue())
        (part,) = archive.infolist()
        for i in range(50):
            copied = copy.copy(part)
            copied.filename = f"a{i}.npy"
            archive.filelist.append(copied)
    with pytest.raises(ProgramError, match="claim more room than the file has"):
        load(path)
