"""Draw the order of the samples in every epoch on the host, and pad arrays to few sizes.

So the number of samples is not part of the compiled program: arrays are padded to the next of a few
lengths, and the number of batches is an argument of the program.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int32, UInt32

from shootax import _random as random
from shootax._train.samples import Data

MOST = 50
"""The maximal number of epochs in one call of the program."""

_ENTRIES = 2**20  # entries in the orders of one call
_LARGE = 64 * 2**20  # bytes; larger data are not copied, so their programs depend on their size


class Order(NamedTuple):
    """For each epoch of a call, the indices of the samples by batch, and the key for drawing new samples.

    Inside an epoch, there is no axis of epochs. There is room for more batches than are used.
    """

    chosen: Int32[Array, "*epochs batches batch_size"]
    key: UInt32[Array, "*epochs 2"] | None


class Size(NamedTuple):
    """The numbers of samples, of batches, and of batches with a sample of weight above zero."""

    samples: Any
    batches: Any
    filled: Any


class Orders:
    """Draw the order of the samples for each net from its seed.

    The numbers are those of `jax.random`: starting from `key(seed)`, `key, order_key = split(key)` before
    every epoch, and `permutation(order_key, samples)`. Samples of weight zero come last.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        weight: np.ndarray,
        batch_size: int,
        batches: int,
        fresh: bool,
    ):
        """`weight` has the weights of all samples without padding, `batches` is the number of batches
        that the program has room for, and `fresh` says whether samples are drawn in the program."""
        self._keys = np.stack([random.key_data(seed) for seed in seeds])
        self._weight = weight
        self._shape = (batches, batch_size)
        self._fresh = fresh
        self.most = int(np.clip(_ENTRIES // (batches * batch_size), 1, MOST))

    def size(self) -> Size:
        """The sizes to pass to the program."""
        samples, batch = len(self._weight), self._shape[1]
        real = int(np.sum(self._weight > 0))
        numbers = (samples, -(-samples // batch), -(-real // batch))
        return Size(*(np.asarray(number, jnp.result_type(int)) for number in numbers))

    def skip(self, epochs: int) -> None:
        """Skip `epochs` epochs."""
        for _ in range(epochs):
            self._next_keys()

    def draw(self, number: int) -> Order:
        """Draw the orders of the next `number` epochs, with nets along the leading axis."""
        keys = np.stack([self._next_keys() for _ in range(number)], axis=1)
        samples, (batches, batch) = len(self._weight), self._shape
        order = random.permutation(keys, samples)
        if not self._weight.all():
            empty = self._weight[order] == 0
            order = np.take_along_axis(order, np.argsort(empty, axis=-1, kind="stable"), axis=-1)
        # The last batch is padded with samples that are not counted again.
        places = np.arange(-(-samples // batch) * batch)
        chosen = np.zeros((len(keys), self.most, batches * batch), np.int32)
        chosen[:, :number, places] = order[:, :, places % samples]
        chosen = chosen.reshape(len(keys), self.most, batches, batch)
        if not self._fresh:
            return Order(chosen, None)  # pyright: ignore[reportArgumentType]
        all_keys = np.zeros((len(keys), self.most, 2), np.uint32)
        all_keys[:, :number] = keys
        return Order(chosen, all_keys)  # pyright: ignore[reportArgumentType]

    def _next_keys(self) -> np.ndarray:
        pairs = random.split(self._keys)
        self._keys = pairs[:, 0]
        return pairs[:, 1]


def few_batch_sizes(wanted: int, samples: int) -> int:
    """The batch size: `wanted`, or a smaller power of two if that is at least twice the samples."""
    return min(wanted, 1 << (samples - 1).bit_length()) if 2 * samples <= wanted else wanted


def room_for_training(data: Data) -> Data:
    """Pad data to a power of two of at least 1,024 samples. Large data are not padded."""
    samples = len(data.sample_weight)
    room = max(1024, 1 << (samples - 1).bit_length())
    whole = sum(leaf.nbytes for leaf in jax.tree.leaves(data)) * room / samples
    return data if whole > _LARGE else with_copies(data, room)


def room_for_validation(data: Data) -> Data:
    """Pad data by at most an eighth, or to 64 samples. Less than for training, because padding is
    evaluated, too."""
    samples = len(data.sample_weight)
    unit = max(8, (1 << (samples - 1).bit_length()) // 16)
    return with_copies(data, max(64, -(-samples // unit) * unit))


def with_copies(data: Data, room: int) -> Data:
    """Pad data to `room` samples, with copies of weight zero."""
    samples = len(data.sample_weight)
    places = np.arange(room) % samples
    more: Data = jax.tree.map(lambda leaf: np.asarray(leaf)[places], data)
    weight = np.where(np.arange(room) < samples, more.sample_weight, 0)
    return jax.device_put(more._replace(sample_weight=weight.astype(more.sample_weight.dtype)))
