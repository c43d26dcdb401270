"""The bytes of a file: named tensors and a text header in the safetensors layout, with a checksum.

A file consists of the length of its header (8 bytes), the header as JSON, and the tensors one after
another. It is read into memory, and every number in it is checked before it is used, so that a damaged or
hostile file raises an error with a reason, and needs no more memory than its own size.
"""

import contextlib
import hashlib
import json
import math
import os
import pathlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from shootax._errors import FileFormatError
from shootax._files import check_place, replaced

DTYPES: dict[str, np.dtype] = {
    "BOOL": np.dtype(np.bool_),
    **{f"{kind}{8 * n}": np.dtype(f"<{kind.lower()}{n}") for kind in "IU" for n in (1, 2, 4, 8)},
    **{f"F{8 * n}": np.dtype(f"<f{n}") for n in (2, 4, 8)},
    "C64": np.dtype("<c8"),
    "BF16": np.dtype(jnp.bfloat16),
    "F8_E4M3": np.dtype(jnp.float8_e4m3fn),
    "F8_E5M2": np.dtype(jnp.float8_e5m2),
}
CODES = {dtype: code for code, dtype in DTYPES.items()}

MOST_AXES = 32
MOST_HEADER = 100_000_000
"""The maximal number of bytes in a header, as in other readers of this layout."""


class Contents(NamedTuple):
    """The header's entries, the tensors by name, and the checksum, if the file has one."""

    header: dict[str, str]
    tensors: dict[str, np.ndarray]
    checksum: str | None


def checksum(header: Mapping[str, str], tensors: Mapping[str, np.ndarray]) -> str:
    """SHA-256 of the header's entries, except the checksum itself, and of all tensors."""
    digest = hashlib.sha256()

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "little"))  # so that different parts differ when joined
        digest.update(part)

    for key in sorted(header.keys() - {"checksum"}):
        add(key.encode())
        add(header[key].encode())
    add(b"tensors")
    for name in sorted(tensors):
        tensor = tensors[name]
        add(name.encode())
        add(f"{CODES[tensor.dtype]} {tensor.shape}".encode())
        add(tensor.tobytes())
    return digest.hexdigest()


def write(
    path: str | os.PathLike, header: Mapping[str, str], tensors: Mapping[str, np.ndarray]
) -> None:
    """Write a file with its checksum atomically."""
    check_place(path)
    data = to_bytes(header, tensors)
    with replaced(path) as temporary:
        pathlib.Path(temporary).write_bytes(data)


def to_bytes(header: Mapping[str, str], tensors: Mapping[str, np.ndarray]) -> bytes:
    """The contents of a file as bytes."""
    ready = {name: _plain(name, tensor) for name, tensor in tensors.items()}
    # Wide dtypes first, so that every tensor is aligned.
    order = sorted(ready, key=lambda name: (-ready[name].dtype.itemsize, name))
    entries: dict[str, Any] = {"__metadata__": {**header, "checksum": checksum(header, ready)}}
    begin = 0
    for name in order:
        tensor = ready[name]
        end = begin + tensor.nbytes
        place = {"dtype": CODES[tensor.dtype], "shape": tensor.shape, "data_offsets": [begin, end]}
        entries[name] = place
        begin = end
    text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > MOST_HEADER:
        raise FileFormatError(
            f"The description takes {len(text)} bytes, more than the {MOST_HEADER} that a file can "
            "hold. Store a shorter record with the model."
        )
    return b"".join(
        [len(text).to_bytes(8, "little"), text, *(ready[name].tobytes() for name in order)]
    )


def _plain(name: str, tensor: np.ndarray) -> np.ndarray:
    tensor = np.asarray(tensor)
    dtype = tensor.dtype if tensor.dtype.isnative else tensor.dtype.newbyteorder("<")
    if dtype not in CODES:
        raise FileFormatError(
            f"The array at {name or 'the top'} has dtype {tensor.dtype}, which cannot be written to "
            f"a file. Expected one of {', '.join(str(each) for each in CODES)}."
        )
    return np.asarray(tensor, dtype=dtype, order="C")


def read(path: str | os.PathLike) -> Contents:
    """Read a file, and raise an error with a reason if it is damaged."""
    try:
        data = pathlib.Path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(f"{error}") from error
    return from_bytes(data)


def from_bytes(data: bytes) -> Contents:
    """Read the contents of a file. Arrays are read-only views of `data`."""
    length = int.from_bytes(data[:8], "little")
    if len(data) < 8 or length > min(len(data) - 8, MOST_HEADER):
        raise FileFormatError(
            f"its header should have {length} bytes, but the whole file has {len(data)}"
        )
    entries = parse_json(data[8 : 8 + length])
    if not isinstance(entries, dict):
        raise FileFormatError(f"its header is a {type(entries).__name__}, not a dictionary")
    header = entries.pop("__metadata__", {})
    if not (isinstance(header, dict) and all(isinstance(v, str) for v in header.values())):
        raise FileFormatError("the entries of its header are not all text")
    tensors = _tensors(entries, memoryview(data)[8 + length :])
    written = header.pop("checksum", None)
    if written is not None and written != _checksum_of(header, tensors):
        raise FileFormatError("its checksum does not match its contents")
    return Contents(header, tensors, written)


def _checksum_of(header: dict[str, str], tensors: dict[str, np.ndarray]) -> str:
    try:
        return checksum(header, tensors)
    except UnicodeEncodeError as error:  # half of a surrogate pair in an escape sequence
        raise FileFormatError("its header is not valid text") from error


def parse_json(text: bytes | str) -> Any:
    """Read JSON, and raise an error with a reason if it is invalid or a name occurs twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise FileFormatError("a name occurs twice in its description")
        return dict(pairs)

    try:
        decoded = text.decode("utf-8") if isinstance(text, bytes) else text
        return json.loads(decoded, object_pairs_hook=unique)
    except FileFormatError:
        raise
    except RecursionError as error:
        raise FileFormatError("its description is nested too deeply") from error
    except ValueError as error:
        raise FileFormatError(f"its description is not JSON: {error}") from error


def _tensors(entries: dict[str, Any], data: memoryview) -> dict[str, np.ndarray]:
    """Read the tensors, which must fill the data without gaps or overlaps."""
    places: list[tuple[int, int]] = []
    tensors: dict[str, np.ndarray] = {}
    for name, entry in entries.items():
        with contextlib.suppress(TypeError, ValueError, KeyError, AttributeError):
            if entry.keys() != {"dtype", "shape", "data_offsets"}:
                raise ValueError
            (begin, end), shape = entry["data_offsets"], tuple(entry["shape"][:MOST_AXES])
            if not all(type(n) is int and n >= 0 for n in (begin, end, *shape)):
                raise ValueError
            dtype = DTYPES[entry["dtype"]]
            if begin <= end <= len(data) and math.prod(shape) * dtype.itemsize == end - begin:
                tensors[name] = np.frombuffer(data[begin:end], dtype).reshape(entry["shape"])
                places.append((begin, end))
        if name not in tensors:
            raise FileFormatError(f"the entry of tensor {name!r} is invalid: {str(entry)[:200]}")
    reached = 0
    for begin, end in sorted(places):
        if begin != reached:
            raise FileFormatError("its tensors leave gaps or overlap")
        reached = end
    if reached != len(data):
        raise FileFormatError(f"its tensors take {reached} bytes, but the file has {len(data)}")
    return tensors
