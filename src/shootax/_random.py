"""JAX's random numbers on the host, bit for bit, where compiling a program would take too long.

Only integers are generated here: keys and permutations. They equal those of `jax.random` with its
default generator, threefry-2x32 with 20 rounds (Salmon et al., 2011).
"""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, PRNGKeyArray, UInt32

from shootax import _checks as checks

KeyData = UInt32[np.ndarray, "... 2"]

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = np.uint32(0x1BD11BDA)


def key_data(seed: int) -> KeyData:
    """The data of `jax.random.key(seed)`."""
    return np.array([0, seed & 0xFFFFFFFF], np.uint32)


def split(data: KeyData, number: int = 2) -> KeyData:
    """`jax.random.split`: `number` keys for each key in `data`, along a new axis."""
    return np.stack(_threefry(data, number), axis=-1)


def permutation(data: KeyData, samples: int) -> np.ndarray:
    """`jax.random.permutation(key, samples)`, for one key or for several at once."""
    order = np.broadcast_to(np.arange(samples, dtype=np.int32), (*data.shape[:-1], samples))
    rounds = math.ceil(3 * math.log(max(1, samples)) / math.log(2**32 - 1))
    for _ in range(rounds):
        keys = split(data)
        data, bits = keys[..., 0, :], np.bitwise_xor(*_threefry(keys[..., 1, :], samples))
        order = np.take_along_axis(order, np.argsort(bits, axis=-1, kind="stable"), axis=-1)
    return order


def split_key(key: PRNGKeyArray, number: int) -> list[PRNGKeyArray]:
    """`jax.random.split(key, number)` as a list, without a compiled program where possible."""
    if not checks.is_concrete(key) or not _is_standard(key):
        return list(jax.random.split(key, number))
    typed = jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key)
    data = split(np.asarray(jax.random.key_data(key)), number)
    arrays: list[Any] = [jax.device_put(each) for each in data]
    return [jax.random.wrap_key_data(each) for each in arrays] if typed else arrays


def _is_standard(key: Array) -> bool:
    """Whether a key is a threefry key that splits as it does by default."""
    if not jax.config.jax_threefry_partitionable:  # pyright: ignore[reportAttributeAccessIssue]
        return False
    if str(jax.random.key_impl(key)) != "threefry2x32":
        return False
    return str(jax.config.jax_default_prng_impl) == "threefry2x32"  # pyright: ignore[reportAttributeAccessIssue]


def _threefry(data: KeyData, number: int) -> tuple[np.ndarray, np.ndarray]:
    """The two output words of the generator for the counters `0, ..., number - 1`, for each key."""
    first, second = (np.asarray(word, np.uint32)[..., None] for word in np.moveaxis(data, -1, 0))
    keys = (first, second, first ^ second ^ _PARITY)
    counters = np.arange(number, dtype=np.uint64)
    x = (counters >> np.uint64(32)).astype(np.uint32) + keys[0]
    y = counters.astype(np.uint32) + keys[1]
    for i in range(5):
        for rotation in _ROTATIONS[i % 2]:
            x = x + y
            y = x ^ ((y << np.uint32(rotation)) | (y >> np.uint32(32 - rotation)))
        x = x + keys[(i + 1) % 3]
        y = y + keys[(i + 2) % 3] + np.uint32(i + 1)
    return x, y
