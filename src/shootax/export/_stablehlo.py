"""Export to StableHLO by `jax.export`. JAX and other runtimes of StableHLO can read the file."""

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
"""This mark and the digest follow the program. Readers of the format ignore them."""


def stablehlo_file(traced: Traced) -> bytes:
    """The serialised program, for any batch size, with its weights as constants."""
    program = jax.jit(lambda x: traced.function(traced.tree, x))
    with doubles() if traced.wide else contextlib.nullcontext():
        exported = jax.export.export(program, platforms=PLATFORMS)(traced.spec)
    program = bytes(exported.serialize())
    return program + MARK + hashlib.sha256(program).digest()


def read_stablehlo(path: pathlib.Path) -> jax.export.Exported:
    """Read the program in a file, and check that the file is unchanged."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise FileFormatError(f"{error}") from error
    end = len(data) - hashlib.sha256().digest_size
    program, mark = data[: end - len(MARK)], data[end - len(MARK) : end]
    if end < len(MARK) or mark != MARK:
        raise FileFormatError(
            f"{path} does not end in a checksum of shootax: it is truncated or damaged, or an older "
            "version wrote it. Export the model again, or read it without a check by "
            "jax.export.deserialize."
        )
    if data[end:] != hashlib.sha256(program).digest():
        raise FileFormatError(
            f"{path} is damaged: its checksum does not match. Export the model again."
        )
    try:
        return jax.export.deserialize(bytearray(program))
    except Exception as error:  # not written by shootax, or by another version of JAX
        raise FileFormatError(f"{path} cannot be read as StableHLO ({error}).") from error
