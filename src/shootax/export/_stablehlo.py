"""A model as StableHLO, through `jax.export`: read back by JAX, or by anything that runs StableHLO."""

import contextlib
import hashlib
import pathlib

import jax
import jax.export

from shootax import FileFormatError
from shootax.export._trace import Traced
from shootax.export._whole import doubles

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")

MARK = b"shootax sha256: "
"""It and the digest follow the program, where readers of the format do not look."""


def stablehlo_file(traced: Traced) -> bytes:
    """The serialised program, with its weights as constants and any batch size."""
    program = jax.jit(lambda x: traced.function(traced.tree, x))
    with doubles() if traced.wide else contextlib.nullcontext():
        exported = jax.export.export(program, platforms=PLATFORMS)(traced.spec)
    program = bytes(exported.serialize())
    return program + MARK + hashlib.sha256(program).digest()


def read_stablehlo(path: pathlib.Path) -> jax.export.Exported:
    """The program in a file, if it is as it was written."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{error}") from error
    end = len(data) - hashlib.sha256().digest_size
    program, mark = data[: end - len(MARK)], data[end - len(MARK) : end]
    if end < len(MARK) or mark != MARK:
        raise FileFormatError(
            f"{path} does not end in a checksum of shootax: it is cut short or damaged, or an older "
            "version wrote it. Export the model again; jax.export.deserialize reads any file, "
            "unchecked."
        )
    if data[end:] != hashlib.sha256(program).digest():
        raise FileFormatError(
            f"{path} is damaged: its checksum does not match. Export the model again."
        )
    try:
        return jax.export.deserialize(bytearray(program))
    except Exception as error:  # made by hand, or for another version of JAX
        raise FileFormatError(f"{path} cannot be read as StableHLO ({error}).") from error
