"""Model files: arrays in the safetensors format, and everything else as JSON in its header.

A model is written as a tree of class names and fields. The names come from a registry and do not depend
on where the classes are defined, so files outlive the code that wrote them. Reading a file creates only
objects of classes in the registry and of those that the caller passes. Nothing is ever unpickled or
imported.
"""

import json
import os
import pathlib
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from shootax import _checks as checks
from shootax._errors import FileFormatError
from shootax._files import check_place
from shootax._fork import refuse_after_fork
from shootax._storage import container
from shootax._storage.encoding import Decoder, Encoder
from shootax._storage.registry import Names
from shootax._storage.registry import register as register

FORMAT = 2
OF_THE_FILE = ("version", "checksum")
"""Entries that `load_record` adds to a record."""


def save(path: str | os.PathLike, model: Any, *, record: Mapping[str, Any] | None = None) -> None:
    """Write a model to one file atomically.

    The file contains a checksum of its contents. Weights that are not finite cause a warning.

    **Arguments:**

    - `path`: the file to write; the usual suffix is `.safetensors`.
    - `model`: a [`shootax.Net`][], or any `equinox.Module` that contains nets.
    - `record`: a JSON-serialisable dictionary to store with the model, for instance how it was trained.
        Its entries `version` and `checksum` are not stored, because the file has its own.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        sx.save("net.safetensors", net, record={"epochs": 500})
        print(sx.load_record("net.safetensors")["epochs"])  # 500
        ```
    """
    import shootax

    _check_path(path, "save(path, model)")
    check_place(path)
    if not isinstance(record, Mapping | None):
        raise TypeError(f"record must be a dictionary, got {checks.shown(record)}.")
    kept = {name: value for name, value in dict(record or {}).items() if name not in OF_THE_FILE}
    encoder = Encoder()
    try:
        header = {
            "program": "shootax",
            "format": str(FORMAT),
            "version": shootax.__version__,
            "model": json.dumps(encoder(model)),
            "record": _record_text(kept),
        }
    except RecursionError as error:
        raise FileFormatError("The model is nested too deeply to be written to a file.") from error
    _warn_if_not_finite("The model", encoder.tensors)
    container.write(path, header, encoder.tensors)


def load(path: str | os.PathLike, *, known: Iterable[Any] = ()) -> Any:
    """Read a model written by [`shootax.save`][].

    Arrays have the dtype that they have in the file. Only if JAX's double precision is not enabled,
    double-precision arrays are rounded, with a warning.

    **Arguments:**

    - `path`: the file.
    - `known`: your own classes and functions, or those of other libraries, that the model consists of,
        as in `load(path, known=[MyField])`. Classes named by [`shootax.register`][], the layers of
        `equinox.nn` and the activations of `jax.nn` need not be given.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        sx.save("net.safetensors", net)
        again = sx.load("net.safetensors")
        ```
    """
    refuse_after_fork()
    known = _checked_known(known)
    contents = _read(path)
    decoder = Decoder(contents.tensors, Names(known), int(contents.header["format"]))
    try:
        model = decoder(container.parse_json(contents.header["model"]))
    except FileFormatError as error:
        raise FileFormatError(
            f"{path}, written by shootax {contents.header['version']}, cannot be loaded: {error}."
        ) from error
    except RecursionError as error:
        raise FileFormatError(f"{path} is damaged: its model is nested too deeply.") from error
    if decoder.rounded:
        warnings.warn(
            f"{path} holds double precision, which is rounded to single because JAX's double precision "
            "is not enabled. To keep it, call jax.config.update('jax_enable_x64', True) before loading.",
            stacklevel=2,
        )
    _warn_if_not_finite(f"{path}", contents.tensors)
    return model


def load_record(path: str | os.PathLike) -> dict[str, Any]:
    """Read the record stored with a model, with the version of the library that wrote it and the
    checksum of the file (`None` for files of the first format).

    **Arguments:** `path`: the file.

    !!! example

        ```python
        import jax
        import shootax as sx

        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        sx.save("net.safetensors", net, record={"epochs": 500})
        print(sx.load_record("net.safetensors")["epochs"])  # 500
        ```
    """
    contents = _read(path)
    try:
        record = container.parse_json(contents.header["record"])
    except FileFormatError as error:
        raise FileFormatError(f"The record in {path} cannot be read: {error}.") from error
    if not isinstance(record, dict):
        raise FileFormatError(
            f"The record in {path} is a {type(record).__name__}, not a dictionary."
        )
    own = {"version": contents.header["version"], "checksum": contents.checksum}
    return {**own, **{name: v for name, v in record.items() if name not in own}}


def _check_path(path: Any, example: str) -> None:
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"path must be text or a pathlib.Path, got {checks.shown(path)}. Write {example}."
        )


def _checked_known(known: Any) -> list[Any]:
    advice = "Write load(path, known=[MyField])."
    if isinstance(known, str) or not isinstance(known, Iterable):
        raise TypeError(
            f"known must be a list of classes and functions, got {checks.shown(known)}. {advice}"
        )
    items = list(known)
    for item in items:
        if not callable(item):
            raise TypeError(
                f"known must hold classes and functions, got {checks.shown(item)} in it. {advice}"
            )
    return items


def _read(path: str | os.PathLike) -> container.Contents:
    _check_path(path, "load(path)")
    if not pathlib.Path(path).is_file():
        what = "is a folder, not a model file" if pathlib.Path(path).is_dir() else "does not exist"
        raise FileFormatError(f"There is no model file {path}: it {what}.")
    try:
        contents = container.read(path)
    except FileFormatError as error:
        raise FileFormatError(
            f"{path} is not a model file, or it is cut short or damaged ({error}). Expected a "
            "safetensors file written by shootax.save."
        ) from error
    header = contents.header
    if header.get("program") != "shootax":
        raise FileFormatError(
            f"{path} is a safetensors file from another program. Expected one written by shootax.save."
        )
    if not {"format", "version", "model", "record"} <= header.keys():
        raise FileFormatError(f"{path} is damaged: its header has only {sorted(header)}.")
    if header["format"] not in map(str, range(1, FORMAT + 1)):
        raise FileFormatError(
            f"{path} has format {header['format']}, written by shootax {header['version']}; this "
            f"version reads up to format {FORMAT}. Upgrade shootax."
        )
    if contents.checksum is None and header["format"] != "1":
        raise FileFormatError(f"{path} is damaged: its checksum is missing.")
    return contents


def _record_text(record: dict[str, Any]) -> str:
    try:
        return json.dumps(record)
    except (TypeError, ValueError) as error:
        raise FileFormatError(
            f"The record cannot be written as JSON ({error}). Use text, numbers, lists and "
            "dictionaries."
        ) from error


def _warn_if_not_finite(what: str, tensors: Mapping[str, np.ndarray]) -> None:
    inexact = {n: t for n, t in tensors.items() if jnp.issubdtype(t.dtype, jnp.inexact)}
    bad = [name or "the top" for name, t in inexact.items() if not np.all(np.isfinite(t))]
    if bad:
        shown = ", ".join(bad[:5]) + (", …" if len(bad) > 5 else "")
        warnings.warn(
            f"{what} has weights that are NaN or infinite: {shown}. Its outputs may be, too.",
            stacklevel=3,
        )
