"""A large batch, some samples at a time, so that what is made of them stays in the caches of a core."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, PyTree

# Copies of a batch that are larger than this leave a core's caches, and a product waits for memory.
CACHE = 2_000_000


def chunk_size(batch: int, floats: int, itemsize: int) -> int:
    """How many samples of a batch at a time, if a product takes so many `floats` for each of them.

    All if these fit into `CACHE` bytes, otherwise the largest divisor of their number that does. A batch
    without a divisor above a fourth of what fits, such as a prime, is not divided.
    """
    fitting = max(1, CACHE // (floats * itemsize))
    if batch <= fitting:
        return batch
    chunk = max(n for n in range(1, fitting + 1) if batch % n == 0)
    return chunk if 4 * chunk > fitting else batch


def by_chunks(function: Callable[..., PyTree[Array]], chunk: int, *batches: PyTree[Array]) -> Any:
    """`function` of so many samples of the batches at a time; results along a new leading axis."""
    cut = jax.tree.map(lambda leaf: leaf.reshape(-1, chunk, *leaf.shape[1:]), batches)
    return jax.lax.map(lambda parts: function(*parts), cut)


def joined(chunks: PyTree[Array]) -> PyTree[Array]:
    """One batch of the chunks."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), chunks)
