"""Streams of batches, from any iterable."""

import base64
from collections.abc import Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shootax._arrays import as_arrays, as_numbers
from shootax._train.samples import AbstractSampler, Data

_FORMS = (
    "(x, y), (x, y, sample_weight), (x, y, sample_weight, times) or a dictionary with these names"
)
_NAMES = ("x", "y", "sample_weight", "times")


def is_stream(x: Any) -> bool:
    """Whether `x` yields batches, and is not itself an array, a table or a tree of arrays."""
    if isinstance(x, Iterator):
        return True
    plain = isinstance(x, list | tuple | dict | str | bytes | AbstractSampler)
    return (
        not plain
        and hasattr(x, "__iter__")
        and not (hasattr(x, "__array__") or hasattr(x, "toarray"))
    )


class Stream:
    """A source of batches: an iterable, which is iterated over repeatedly, or a single iterator.

    The first batch is inspected before training, and then used for training like any other. `size` is
    its number of samples; smaller batches are padded with samples of weight zero.
    """

    def __init__(self, source: Any):
        self._source = source
        self._once = isinstance(source, Iterator)
        self._iterator: Any = source if self._once else iter(source)
        self.taken = 0
        self._ahead: list[Any] = []
        first = self._pull()
        if first is None:
            raise ValueError("The stream is empty, but fit needs at least one batch.")
        self._ahead = [first]
        self.first = _as_data(first, "first batch")
        self.size = len(self.first.sample_weight)
        self._tree = jax.tree.structure(self.first)
        self._shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(self.first)]
        self.target_shapes: list[tuple[int, ...]] | None = None  # those that the loss expects

    def length(self) -> int | None:
        """The number of batches in one pass, or `None` if the source has no length."""
        try:
            return None if self._once else len(self._source)
        except (TypeError, NotImplementedError, OverflowError):
            return None

    def next(self) -> Data | None:
        """Return the next batch as NumPy arrays, or `None` at the end of a source that cannot restart."""
        item = self._ahead.pop() if self._ahead else self._pull()
        if item is None and not self._once:
            self._iterator = iter(self._source)
            item = self._pull()
            if item is None:
                raise ValueError(
                    "The stream yields no batches in its second pass. Give an iterable that can be "
                    "iterated over repeatedly."
                )
        if item is None:
            return None
        self.taken += 1
        what = f"batch {self.taken} of the stream"
        batch = _as_data(item, what)
        samples = len(batch.sample_weight)
        shapes = [leaf.shape[1:] for leaf in jax.tree.leaves(batch)]
        if jax.tree.structure(batch) != self._tree or shapes != self._shapes:
            raise ValueError(
                f"All batches of a stream must have the same structure: samples of the shapes "
                f"{self._shapes} at first, and {shapes} in {what}."
            )
        if samples > self.size:
            raise ValueError(
                f"The first batch of the stream has {self.size} samples and {what} has {samples}. "
                "Later batches may be smaller, but not larger."
            )
        if self.target_shapes is not None:
            leaves, tree = jax.tree.flatten(batch.y)
            shaped = zip(leaves, self.target_shapes, strict=True)
            y = [leaf.reshape(samples, *shape) for leaf, shape in shaped]
            batch = batch._replace(y=jax.tree.unflatten(tree, y))
        return _filled(batch, self.size)

    def _pull(self) -> Any:
        try:
            return next(self._iterator)
        except StopIteration:
            return None
        except Exception as error:
            error.add_note(f"This came from the stream, after {self.taken} batches.")
            raise

    # Its position.

    def state(self) -> Any:
        """The position of the source as JSON-serialisable values, or `None` if it does not report it."""
        for holder in (self._iterator, self._source):
            for name in ("get_state", "state_dict"):
                if callable(getattr(holder, name, None)):
                    return _as_json(getattr(holder, name)())
        return None

    def resume(self, state: Any, batches: int) -> bool:
        """Continue after `batches` batches. Return whether the source was set to this position; if not,
        these batches were drawn again and dropped."""
        if state is not None:
            for holder in (self._iterator, self._source):
                for name in ("set_state", "load_state_dict"):
                    if callable(getattr(holder, name, None)):
                        getattr(holder, name)(_from_json(state))
                        if holder is self._source:
                            self._iterator = iter(self._source)
                        self._ahead, self.taken = [], batches
                        return True
        for _ in range(batches):
            if self.next() is None:
                break
        return False


def _as_data(item: Any, what: str) -> Data:
    if isinstance(item, Mapping) and {"x", "y"} <= set(item) <= set(_NAMES):
        parts = [item.get(name) for name in _NAMES]
    elif isinstance(item, tuple | list) and len(item) in (2, 3, 4):
        parts = [*item, None, None][:4]
    else:
        kind = f"a {type(item).__name__}"
        if isinstance(item, Mapping):
            kind = f"a dictionary with {sorted(map(str, item))}"
        elif isinstance(item, tuple | list):
            kind += f" of length {len(item)}"
        raise ValueError(f"The batches of a stream must be {_FORMS}; the {what} is {kind}.")
    x, y = (jax.tree.map(lambda leaf: _floats(leaf, what), as_arrays(part)) for part in parts[:2])
    lengths = {leaf.shape[0] if leaf.ndim else 0 for leaf in jax.tree.leaves((x, y))}
    if len(lengths) != 1 or lengths == {0}:
        raise ValueError(
            f"The {what} must have the same number of samples, at least one, in all its arrays; got "
            f"{sorted(lengths)}."
        )
    (samples,) = lengths
    weight = np.ones(samples) if parts[2] is None else parts[2]
    weight, times = _floats(weight, what), None
    if parts[3] is not None:
        times = _floats(parts[3], what)
    if weight.shape != (samples,) or np.any(weight < 0) or not np.any(weight > 0):
        raise ValueError(
            f"The sample_weight of the {what} must be {samples} numbers of at least 0, not all 0; got "
            f"shape {weight.shape}."
        )
    if times is not None and (times.ndim != 2 or len(times) != samples):
        raise ValueError(
            f"The times of the {what} must have shape ({samples}, times), got {times.shape}."
        )
    return Data(x, y, weight, times)  # pyright: ignore[reportArgumentType]


def _floats(values: Any, what: str) -> np.ndarray:
    array = np.asarray(as_numbers(values))
    if array.dtype.kind not in "fiub":
        raise ValueError(f"The {what} must hold numbers, got an array of dtype {array.dtype}.")
    array = array.astype(jnp.result_type(float))
    if not np.isfinite(array).all():
        raise ValueError(f"The {what} has a number that is not finite (NaN or infinity).")
    return array


def _filled(batch: Data, size: int) -> Data:
    """Pad a batch to `size` samples, with copies of the first sample that have weight zero."""
    samples = len(batch.sample_weight)
    if samples == size:
        return batch
    places = np.where(np.arange(size) < samples, np.arange(size), 0)
    full: Data = jax.tree.map(lambda leaf: leaf[places], batch)
    weight = np.where(np.arange(size) < samples, full.sample_weight, 0)
    return full._replace(sample_weight=weight.astype(batch.sample_weight.dtype))


def _as_json(value: Any) -> Any:
    """Convert the state of a loader to JSON-serialisable values, with bytes and arrays as text."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, Mapping):
        return {"items": [[_as_json(key), _as_json(part)] for key, part in value.items()]}
    if isinstance(value, list | tuple):
        kind = "list" if isinstance(value, list) else "tuple"
        return {kind: [_as_json(part) for part in value]}
    if hasattr(value, "__array__"):
        array = np.asarray(value)
        if array.dtype.kind in "fiub":
            content = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
            return {"array": content, "dtype": array.dtype.str, "shape": list(array.shape)}
    raise ValueError(
        f"The state of the stream holds a {type(value).__name__}, which a checkpoint cannot store. It "
        "can store numbers, text, bytes, arrays, and lists and dictionaries of these."
    )


def _from_json(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    if "bytes" in value:
        return base64.b64decode(value["bytes"])
    if "items" in value:
        return {_from_json(key): _from_json(part) for key, part in value["items"]}
    if "array" in value:
        flat = np.frombuffer(base64.b64decode(value["array"]), np.dtype(value["dtype"]))
        return flat.reshape(value["shape"]).copy()
    kind, parts = next(iter(value.items()))
    made = [_from_json(part) for part in parts]
    return tuple(made) if kind == "tuple" else made
