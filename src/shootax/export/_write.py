"""Export to all formats. Files are completed in memory and then moved into place."""

import contextlib
import hashlib
import json
import os
import pathlib
from typing import Any, Literal

from shootax import _checks as checks
from shootax._files import check_place, replaced
from shootax.export._numpy import numpy_file
from shootax.export._onnx import onnx_file
from shootax.export._stablehlo import stablehlo_file
from shootax.export._torch import torch_files
from shootax.export._trace import trace
from shootax.export._whole import Exportable, Whole
from shootax.export.table_reader import checksum

TARGETS = ("onnx", "torch", "stablehlo", "numpy")

ENDINGS = {"onnx": ".onnx", "torch": ".py", "stablehlo": ".stablehlo", "numpy": ".npz"}


def write(
    model: Any,
    path: str | os.PathLike,
    *,
    to: Literal["onnx", "torch", "stablehlo", "numpy"],
    input: Any = None,
) -> list[pathlib.Path]:
    """Export a model for use in another program, with its weights precomputed, for any batch size.

    - `"onnx"`: one file. You need the package `onnx`.
    - `"torch"`: a Python file with a module that only needs PyTorch, and its state dict in a
        `.safetensors` file. You can train the module further. You do not need PyTorch to write it.
    - `"stablehlo"`: one file, which `jax.export.deserialize` reads.
    - `"numpy"`: an `.npz` file, and a short Python file that loads and runs it with NumPy.

    **Arguments:**

    - `model`: a [`shootax.Net`][], or an `equinox.Module` that contains nets and takes a batch. It is
        baked first if necessary. Or a fitted estimator, which is exported with its preprocessing: it
        takes raw samples `(samples, columns)` in double precision, and returns predictions or class
        probabilities. An estimator has two more files: `.columns.json` describes the columns, and
        `_columns.py` converts a table with text and missing entries to such samples, with NumPy only.
    - `path`: where to write. The other files have the same name with other endings.
    - `to`: the format.
    - `input`: the shape of one sample, as in `(3, 28, 28)`, or a batch of such samples. You can omit
        it if the model starts with a net.

    **Returns:**

    The paths of the files, `path` first. All files are complete before any existing one is replaced.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=2, inflation=4), particles=5, key=jax.random.key(0))
        sx.export.write(net, "net.npz", to="numpy")
        ```
    """
    to = checks.one_of(to, TARGETS, "format")  # pyright: ignore[reportAssignmentType]
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path must be a string or a pathlib.Path, got {checks.shown(path)}.")
    check_place(path)
    path = pathlib.Path(path)
    if isinstance(model, Exportable):
        model = model._exported()
    if isinstance(model, Whole) and input is not None:
        raise ValueError("An estimator knows its columns: leave `input` out.")
    traced = trace(model, input)
    if to == "onnx":
        files = {path: onnx_file(traced)}
    elif to == "stablehlo":
        files = {path: stablehlo_file(traced)}
    elif to == "numpy":
        reader = pathlib.Path(__file__).with_name("reader.py")
        files = {path: numpy_file(traced), path.with_suffix(".py"): reader.read_bytes()}
    else:
        weights = path.with_suffix(".safetensors")
        source, state = torch_files(traced, path.stem, weights.name)
        files = {path: source, weights: state}
    if len(files) == 1 and to in ("numpy", "torch"):
        raise ValueError(
            f"{path} is also the name of the second file. Give a path that ends in {ENDINGS[to]}."
        )
    if isinstance(model, Whole):
        files |= _columns(path, model, None if to == "torch" else files[path])
    return _write(files)


def companions(path: pathlib.Path, to: str, columns: bool = False) -> list[pathlib.Path]:
    """List the paths of all files that an export writes.

    **Arguments:**

    - `path`, `to`: as in [`shootax.export.write`][].
    - `columns`: whether the model is an estimator, which has two more files.

    !!! example

        ```python
        import pathlib
        from shootax.export import companions

        print([path.name for path in companions(pathlib.Path("net.npz"), "numpy")])
        ```
    """
    path = pathlib.Path(checks.path(path, "path"))
    checks.one_of(to, ENDINGS, "format")
    more = {"numpy": [path.with_suffix(".py")], "torch": [path.with_suffix(".safetensors")]}
    return [path, *more.get(to, []), *(_column_files(path) if columns else ())]


def _column_files(path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    return path.with_suffix(".columns.json"), path.with_name(f"{path.stem}_columns.py")


def _columns(path: pathlib.Path, whole: Whole, exported: bytes | None) -> dict[pathlib.Path, bytes]:
    """The description of an estimator's columns and, for tables, a short file that reads it.

    The description contains the checksum of the exported file, unless that is source code, which
    users may edit.
    """
    described, reader = _column_files(path)
    about = {"program": "shootax", "format": 2, **whole.about}
    if exported is not None:
        about["model"] = {"file": path.name, "sha256": hashlib.sha256(exported).hexdigest()}
    text = json.dumps({**about, "checksum": checksum(about)}, indent=1, ensure_ascii=False)
    source = pathlib.Path(__file__).with_name("table_reader.py")
    is_table = isinstance(whole.about["inputs"], list)
    return {described: text.encode(), **({reader: source.read_bytes()} if is_table else {})}


def _write(files: dict[pathlib.Path, bytes]) -> list[pathlib.Path]:
    """Write all files to temporary places, and move them to their paths once all are written."""
    with contextlib.ExitStack() as stack:
        parts = {path: stack.enter_context(replaced(path)) for path in files}
        for path, data in files.items():
            pathlib.Path(parts[path]).write_bytes(data)
    return list(files)
