"""A model as StableHLO, through `jax.export`: read back by JAX, or by anything that runs StableHLO."""

import contextlib

import jax
import jax.export

from shootax.export._trace import Traced
from shootax.export._whole import doubles

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def stablehlo_file(traced: Traced) -> bytes:
    """The serialised program, with its weights as constants and any batch size."""
    program = jax.jit(lambda x: traced.function(traced.tree, x))
    with doubles() if traced.wide else contextlib.nullcontext():
        exported = jax.export.export(program, platforms=PLATFORMS)(traced.spec)
    return bytes(exported.serialize())
