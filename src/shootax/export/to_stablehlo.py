"""A model as StableHLO, through `jax.export`: read back by JAX, or by anything that runs StableHLO."""

import jax
import jax.export

from shootax.export.trace import Traced

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


def stablehlo_file(traced: Traced) -> bytes:
    """The serialised program, with its weights as constants and any number of rows."""
    program = jax.jit(lambda x: traced.function(traced.tree, x))
    exported = jax.export.export(program, platforms=PLATFORMS)(traced.spec)
    return bytes(exported.serialize())
