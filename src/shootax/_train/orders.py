"""The order of the samples in every epoch, drawn on the host, and arrays of few sizes.

So the number of samples is no part of the compiled program: arrays are filled up to the next of a few
lengths, and the program goes through as many batches as it is told.
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
"""The largest number of epochs in one call of the program."""

_ENTRIES = 2**20  # of the orders of one call
_LARGE = 64 * 2**20  # bytes; larger data are not copied, and have programs of their own


class Order(NamedTuple):
    """For each epoch of a call: the numbers of the samples by batch, and the key for fresh samples.

    Inside an epoch, those of this epoch alone. There are more batches than are used.
    """

    chosen: Int32[Array, "*epochs batches batch_size"]
    key: UInt32[Array, "*epochs 2"] | None


class Size(NamedTuple):
    """Numbers of samples, of batches, and of batches that are not of samples of weight zero alone."""

    samples: Any
    batches: Any
    filled: Any


class Orders:
    """Draws the order of the samples for one net after the other, each by its seed.

    The numbers are those of `jax.random`: `key, order_key = split(key)` before every epoch, from
    `key(seed)` on, and `permutation(order_key, samples)`. Samples of weight zero come last.
    """

    def __init__(
        self,
        seeds: Sequence[int],
        weight: np.ndarray,
        batch_size: int,
        batches: int,
        fresh: bool,
    ):
        """`weight` is that of all real samples, `batches` the number that the program has room for, and
        `fresh` says whether samples are drawn in the program."""
        self._keys = np.stack([random.key_data(seed) for seed in seeds])
        self._weight = weight
        self._shape = (batches, batch_size)
        self._fresh = fresh
        self.most = int(np.clip(_ENTRIES // (batches * batch_size), 1, MOST))

    def size(self) -> Size:
        """The numbers that the program is told."""
        samples, batch = len(self._weight), self._shape[1]
        real = int(np.sum(self._weight > 0))
        numbers = (samples, -(-samples // batch), -(-real // batch))
        return Size(*(np.asarray(number, jnp.result_type(int)) for number in numbers))

    def skip(self, epochs: int) -> None:
        """Goes on as after so many epochs."""
        for _ in range(epochs):
            self._next_keys()

    def draw(self, number: int) -> Order:
        """The next epochs, with one net first along the leading axis."""
        keys = np.stack([self._next_keys() for _ in range(number)], axis=1)
        samples, (batches, batch) = len(self._weight), self._shape
        order = random.permutation(keys, samples)
        if not self._weight.all():
            empty = self._weight[order] == 0
            order = np.take_along_axis(order, np.argsort(empty, axis=-1, kind="stable"), axis=-1)
        # The last batch is filled up with samples that are not counted again.
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
    """The size of a batch: as wanted, unless that were more than twice the samples."""
    return min(wanted, 1 << (samples - 1).bit_length()) if 2 * samples <= wanted else wanted


def room_for_training(data: Data) -> Data:
    """The data filled up to a power of two, of at least 1,024 samples; large data as they are."""
    samples = len(data.sample_weight)
    room = max(1024, 1 << (samples - 1).bit_length())
    whole = sum(leaf.nbytes for leaf in jax.tree.leaves(data)) * room / samples
    return data if whole > _LARGE else with_copies(data, room)


def room_for_validation(data: Data) -> Data:
    """The data filled up by at most an eighth, or to 64 samples: they all are evaluated."""
    samples = len(data.sample_weight)
    unit = max(8, (1 << (samples - 1).bit_length()) // 16)
    return with_copies(data, max(64, -(-samples // unit) * unit))


def with_copies(data: Data, room: int) -> Data:
    """So many samples: the same again and again, with weight zero."""
    samples = len(data.sample_weight)
    places = np.arange(room) % samples
    more: Data = jax.tree.map(lambda leaf: np.asarray(leaf)[places], data)
    weight = np.where(np.arange(room) < samples, more.sample_weight, 0)
    return jax.device_put(more._replace(sample_weight=weight.astype(more.sample_weight.dtype)))
