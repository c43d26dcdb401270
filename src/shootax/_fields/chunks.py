"""Process a large batch in chunks, so that intermediate results stay in the caches of a core."""

from collections.abc import Callable
from typing import Any

import jax
from jaxtyping import Array, PyTree

# Copies of a batch that are larger than this leave a core's caches, and a product waits for memory.
CACHE = 2_000_000


def chunk_size(batch: int, floats: int, itemsize: int) -> int:
    """The number of samples in a chunk, if a product needs `floats` numbers for each sample.

    It is the whole batch if that fits into `CACHE` bytes, otherwise the largest divisor of the batch size
    that fits. A batch without a divisor above a quarter of what fits, such as a prime, is not divided.
    """
    fitting = max(1, CACHE // (floats * itemsize))
    if batch <= fitting:
        return batch
    chunk = max(n for n in range(1, fitting + 1) if batch % n == 0)
    return chunk if 4 * chunk > fitting else batch


def by_chunks(function: Callable[..., PyTree[Array]], chunk: int, *batches: PyTree[Array]) -> Any:
    """Apply `function` to `chunk` samples at a time. Results have a new leading axis for the chunks."""
    cut = jax.tree.map(lambda leaf: leaf.reshape(-1, chunk, *leaf.shape[1:]), batches)
    return jax.lax.map(lambda parts: function(*parts), cut)


def joined(chunks: PyTree[Array]) -> PyTree[Array]:
    """Join the chunks to one batch."""
    return jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), chunks)
