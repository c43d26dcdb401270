"""MNIST is read from files of both kinds, checked, and never downloaded."""

import gzip
import struct

import numpy as np
import pytest

import shootax as sx
from shootax.data import LabelledImages, mnist
from shootax.data._mnist import IDX, KERAS


@pytest.fixture
def arrays():
    rng = np.random.default_rng(0)
    sizes = {"train": 6, "test": 3}
    images = {
        f"{kind}_images": rng.integers(0, 256, (n, 28, 28), np.uint8) for kind, n in sizes.items()
    }
    return images | {
        f"{kind}_labels": rng.integers(0, 10, n).astype(np.uint8) for kind, n in sizes.items()
    }


def idx(array):
    return struct.pack(">HBB", 0, 8, array.ndim) + struct.pack(
        f">{array.ndim}I", *array.shape
    ) + array.tobytes()  # fmt: skip


def write(folder, arrays, end=""):
    for name, array in arrays.items():
        content = idx(array)
        (folder / f"{IDX[name]}{end}").write_bytes(gzip.compress(content) if end else content)


def same(read, arrays):
    for kind, part in zip(("train", "test"), read, strict=True):
        assert isinstance(part, LabelledImages)
        np.testing.assert_array_equal(part.images, arrays[f"{kind}_images"])
        np.testing.assert_array_equal(part.labels, arrays[f"{kind}_labels"])


@pytest.mark.parametrize("end", ["", ".gz"])
def test_idx_files(tmp_path, arrays, end):
    write(tmp_path, arrays, end)
    same(mnist(tmp_path, verify=False), arrays)


@pytest.mark.parametrize("names", [None, KERAS])
def test_npz(tmp_path, arrays, names, monkeypatch):
    renamed = {(names or {}).get(name, name): array for name, array in arrays.items()}
    np.savez(tmp_path / "mnist.npz", **renamed)
    monkeypatch.setenv("SHOOTAX_DATA", str(tmp_path))
    same(mnist(verify=False), arrays)
    same(mnist(tmp_path / "mnist.npz", verify=False), arrays)


def test_other_contents_are_refused(tmp_path, arrays):
    write(tmp_path, arrays)
    with pytest.raises(sx.FileFormatError, match=r"train images .* not those of MNIST.*verify=Fal"):
        mnist(tmp_path)


def test_nothing_there(tmp_path, monkeypatch):
    monkeypatch.delenv("SHOOTAX_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"nothing is downloaded.*SHOOTAX_DATA"):
        mnist()
    with pytest.raises(FileNotFoundError, match=r"no mnist.npz and no train-images-idx3-ubyte"):
        mnist(tmp_path)


def test_labels_without_images(tmp_path, arrays):
    write(tmp_path, arrays | {"train_labels": arrays["train_labels"][:-1]})
    with pytest.raises(sx.FileFormatError, match="6 train images but 5 labels"):
        mnist(tmp_path, verify=False)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-1],
        lambda content: content + b"x",
        lambda content: b"PK" + content,
        lambda content: content[:7],
        lambda content: b"\x00\x00\x08\x03" + b"\xff" * 12,
        lambda content: b"",
    ],
)
@pytest.mark.parametrize("end", ["", ".gz"])
def test_damaged_idx(tmp_path, arrays, damage, end):
    write(tmp_path, arrays, end)
    path = tmp_path / f"{IDX['test_images']}{end}"
    path.write_bytes(damage(path.read_bytes()))
    if end and damage(b"0123456789") == b"0123456789x":
        return  # gzip allows zeros and other members after its end
    with pytest.raises(sx.FileFormatError, match="t10k-images"):
        mnist(tmp_path, verify=False)


def test_damaged_npz(tmp_path, arrays):
    path = tmp_path / "mnist.npz"
    np.savez(path, **{name: a for name, a in arrays.items() if name != "test_labels"})
    with pytest.raises(sx.FileFormatError, match="must have the arrays"):
        mnist(tmp_path, verify=False)
    np.savez(path, **(arrays | {"test_images": arrays["test_images"].astype(float)}))
    with pytest.raises(sx.FileFormatError, match="must be bytes with 3 axes, got float64"):
        mnist(path, verify=False)
    path.write_bytes(b"nothing")
    with pytest.raises(sx.FileFormatError, match="damaged"):
        mnist(tmp_path, verify=False)
    np.savez(path, **(arrays | {"test_images": np.array([object()])}))
    with pytest.raises(sx.FileFormatError, match="damaged"):
        mnist(tmp_path, verify=False)
