"""A digest of samples that does not depend on how devices and processes share them."""

from typing import Any

import jax
import numpy as np

from shootax._train.hosts import gathered
from shootax._train.samples import Data


def data_digest(data: Data) -> bytes:
    """A few bytes that identify the samples with a weight above zero, and their order.

    Each sample is hashed to a number, which is multiplied by a number that depends on the position of
    the sample in all data. The digest is the sum of these products, so processes can add up those of
    their own parts.
    """
    weight = np.asarray(data.sample_weight)
    counts = [int(part[0]) for part in gathered(np.array([int(np.sum(weight > 0))], np.int32))]
    offset = sum(counts[: jax.process_index()]) if len(counts) > 1 else 0
    found = []
    for leaf in jax.tree.leaves(data):
        real = np.ascontiguousarray(np.asarray(leaf)[weight > 0])
        words = _scrambled(np.arange(len(real), dtype=np.uint64) + np.uint64(offset + 1))
        with np.errstate(over="ignore"):
            total = np.sum(_rows(real) * words, dtype=np.uint64)
        parts = gathered(np.frombuffer(total.tobytes(), np.uint8))
        sums = np.array([np.frombuffer(part.tobytes(), np.uint64)[0] for part in parts])
        found.append(f"{leaf.dtype}{leaf.shape[1:]}{sum(counts)}".encode())
        with np.errstate(over="ignore"):
            found.append(np.sum(sums, dtype=np.uint64).tobytes())
    return b"".join(found)


def _rows(values: np.ndarray) -> np.ndarray:
    """Hash each sample to a number."""
    if not values.size:
        return np.zeros(len(values), np.uint64)
    flat = values.reshape(len(values), -1).view(np.uint8)
    padded = np.pad(flat, ((0, 0), (0, -flat.shape[1] % 8))) if flat.shape[1] % 8 else flat
    numbers = np.ascontiguousarray(padded).view(np.uint64)
    factors = _scrambled(np.arange(1, numbers.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    with np.errstate(over="ignore"):
        return _scrambled(numbers @ factors)


def _scrambled(numbers: Any) -> np.ndarray:
    """Scramble each number to one without a visible pattern."""
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
        return numbers ^ (numbers >> np.uint64(31))
