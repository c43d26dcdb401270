"""Models in files: safetensors for the arrays, JSON in its header for everything else.

A model is written as a tree of class names and fields. Reading one makes objects of the classes of
this library, and of those the caller hands over, and of nothing else; no code is ever unpickled.
"""

import dataclasses
import json
import os
import pathlib
import warnings
from collections.abc import Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from shootax.activations import ACTIVATIONS
from shootax.errors import FileFormatError
from shootax.files import replaced
from shootax.penalties import SPDMatrix

FORMAT = 1


def save(path: str | os.PathLike, model: Any, *, record: Mapping[str, Any] | None = None) -> None:
    """Writes a model to one file, whole or not at all.

    **Arguments:**

    - `path`: where to; the usual ending is `.safetensors`.
    - `model`: a [`shootax.Net`][] or any `equinox.Module` made of them.
    - `record`: anything JSON can hold, kept beside the model: how it was trained, for instance.
    """
    import shootax

    tensors: dict[str, np.ndarray] = {}
    tree = _encode(model, "", tensors)
    header = {
        "program": "shootax",
        "format": str(FORMAT),
        "version": shootax.__version__,
        "model": json.dumps(tree),
        "record": json.dumps(dict(record or {})),
    }
    with replaced(path) as temporary:
        safetensors.numpy.save_file(tensors, temporary, metadata=header)


def load(path: str | os.PathLike, *, known: Iterable[Any] = ()) -> Any:
    """Reads a model written by [`shootax.save`][].

    **Arguments:**

    - `path`: the file.
    - `known`: classes and functions of your own, or of other libraries, that the model is made of,
        as in `load(path, known=[MyField, eqx.nn.Linear])`.
    """
    header, tensors = _open(path)
    names = {**_own_classes(), **{_qualified(item): item for item in known}}
    if any(array.dtype == np.float64 for array in tensors.values()) and not jax.config.read(
        "jax_enable_x64"
    ):
        warnings.warn(
            f"{path} holds double precision, which JAX is set to round to single. Set "
            "jax.config.update('jax_enable_x64', True) before loading to keep it.",
            stacklevel=2,
        )
    try:
        return _decode(json.loads(header["model"]), tensors, names)
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise FileFormatError(
            f"{path} is damaged: its description is incomplete ({error!r})."
        ) from error


def load_record(path: str | os.PathLike) -> dict[str, Any]:
    """The record written beside a model, and the version of the library that wrote it."""
    header, _ = _open(path)
    return {"version": header["version"], **json.loads(header["record"])}


def _open(path: str | os.PathLike) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    if not pathlib.Path(path).is_file():
        raise FileFormatError(f"There is no model file {path}.")
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except Exception as error:
        raise FileFormatError(
            f"{path} is not a model file, or it is cut short or damaged ({error}). Expected a "
            "safetensors file written by shootax.save."
        ) from error
    if header.get("program") != "shootax":
        raise FileFormatError(
            f"{path} is a safetensors file of another program. Expected one written by shootax.save."
        )
    if not {"format", "version", "model", "record"} <= header.keys():
        raise FileFormatError(f"{path} is damaged: its header has only {sorted(header)}.")
    if header["format"] not in map(str, range(1, FORMAT + 1)):
        raise FileFormatError(
            f"{path} has format {header['format']}, written by shootax {header['version']}; this "
            f"version reads up to format {FORMAT}. Upgrade shootax."
        )
    return header, tensors


def _qualified(item: Any) -> str:
    return f"{item.__module__}.{item.__qualname__}"


def _own_classes() -> dict[str, type]:
    import shootax

    public = vars(shootax).values()
    own = [c for c in public if isinstance(c, type) and issubclass(c, eqx.Module)]
    return {_qualified(c): c for c in own}


def _encode(value: Any, place: str, tensors: dict[str, np.ndarray]) -> Any:
    """`value` as JSON; arrays go to `tensors` under the name of their place in the model."""
    below = f"{place}." if place else ""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, jax.Array | np.ndarray):
        tensors[place] = np.asarray(value)
        return {"array": place}
    if isinstance(value, SPDMatrix):
        tensors[place] = value.values
        return {"spd": place}
    if isinstance(value, tuple | list):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encode(v, f"{below}{i}", tensors) for i, v in enumerate(value)]}
    if isinstance(value, dict):
        return {"dict": [[k, _encode(v, f"{below}{k}", tensors)] for k, v in value.items()]}
    if isinstance(value, eqx.Module):
        fields = {
            field.name: _encode(getattr(value, field.name), f"{below}{field.name}", tensors)
            for field in dataclasses.fields(value)
        }
        return {"module": _qualified(type(value)), "fields": fields}
    for name, function in ACTIVATIONS.items():
        if value is function:
            return {"activation": name}
    if callable(value) and "<" not in getattr(value, "__qualname__", "<"):
        return {"known": _qualified(value)}
    raise FileFormatError(
        f"The model holds {value!r} at {place or 'its top'}, which cannot be written to a file. Use a "
        "named activation, or a function or module defined at the top level of a file."
    )


def _decode(tree: Any, tensors: dict[str, np.ndarray], names: dict[str, Any]) -> Any:
    if not isinstance(tree, dict):
        return tree
    if "array" in tree:
        return jnp.asarray(tensors[tree["array"]])
    if "spd" in tree:
        return SPDMatrix(tensors[tree["spd"]])
    if "tuple" in tree:
        return tuple(_decode(item, tensors, names) for item in tree["tuple"])
    if "list" in tree:
        return [_decode(item, tensors, names) for item in tree["list"]]
    if "dict" in tree:
        return {key: _decode(item, tensors, names) for key, item in tree["dict"]}
    if "activation" in tree:
        return ACTIVATIONS[tree["activation"]]
    name = tree.get("known", tree.get("module"))
    if name not in names:
        raise FileFormatError(
            f"The model needs {name}, which is not part of this version of shootax. If it is yours, "
            f"hand it over: load(path, known=[{str(name).rsplit('.', 1)[-1]}])."
        )
    if "known" in tree:
        return names[name]
    fields = {field.name: field.default for field in dataclasses.fields(names[name])}
    wanted, got = fields.keys(), tree["fields"].keys()
    # What a later version added has a default that does as the earlier one did.
    added = {part: fields[part] for part in wanted - got}
    if got - wanted or dataclasses.MISSING in added.values():
        raise FileFormatError(
            f"{name} has the parts {sorted(wanted)}, the file {[*tree['fields']]}."
        )
    module = object.__new__(names[name])
    for field, value in added.items():
        object.__setattr__(module, field, value)
    for field, item in tree["fields"].items():
        object.__setattr__(module, field, _decode(item, tensors, names))
    return module
