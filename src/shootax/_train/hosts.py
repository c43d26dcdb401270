"""Communication between several processes, on one or many machines, that train together.

All processes must run the same program the same number of times. Decisions that depend on a clock, a file
or a user's function are therefore made by the first process, or by all together.
"""

import contextlib
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils
from jaxtyping import PyTree


def several() -> bool:
    """Whether there is more than one process."""
    return jax.process_count() > 1


def leads() -> bool:
    """Whether this is the first process, which writes files and shows progress."""
    return jax.process_index() == 0


def gathered(values: np.ndarray) -> list[np.ndarray]:
    """The arrays of all processes, which may differ in length."""
    if not several():
        return [values]
    counts = np.ravel(multihost_utils.process_allgather(np.array(len(values))))
    more = [(0, int(counts.max()) - len(values)), *[(0, 0)] * (values.ndim - 1)]
    everyone = np.asarray(multihost_utils.process_allgather(np.pad(values, more)))
    return [part[: int(count)] for part, count in zip(everyone, counts, strict=True)]


def of_the_first(tree: PyTree) -> PyTree:
    """The numbers of the first process, on all processes."""
    if not several():
        return tree
    return jax.tree.map(np.asarray, multihost_utils.broadcast_one_to_all(tree))


def bytes_of_the_first(content: bytes | None) -> bytes | None:
    """The bytes of the first process, on all processes, or `None` if it has none."""
    if not several():
        return content
    known = np.frombuffer(content or b"", np.uint8) if leads() else np.zeros(0, np.uint8)
    length = int(of_the_first(np.array(-1 if leads() and content is None else len(known))))
    if length < 0:
        return None
    room = known if leads() else np.zeros(length, np.uint8)
    return np.asarray(of_the_first(room), np.uint8).tobytes()


def highest(values: Any) -> np.ndarray:
    """The maximum over all processes, entry by entry."""
    if not several():
        return np.asarray(values)
    return np.max(np.asarray(multihost_utils.process_allgather(np.asarray(values))), axis=0)


_LOST = ("Gloo", "onnection closed", "UNAVAILABLE", "unhealthy", "heartbeat", "DEADLINE_EXCEEDED")
"""Parts of JAX's error messages when another process does not respond."""


@contextlib.contextmanager
def naming_lost_processes() -> Iterator[None]:
    """Replace JAX's error when another process is lost by one that says what to do."""
    try:
        yield
    except jax.errors.JaxRuntimeError as error:
        if not several() or not any(word in str(error) for word in _LOST):
            raise
        raise RuntimeError(
            f"Process {jax.process_index()} of {jax.process_count()} stops: another process of this "
            "training has ended or does not respond. Start all processes again. With the same "
            "checkpoint=, training resumes from the last checkpoint, on any number of processes."
        ) from error
