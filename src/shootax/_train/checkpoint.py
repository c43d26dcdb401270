"""The whole state of a training in a file, to go on from after an interruption, to the last bit."""

import dataclasses
import hashlib
import json
import os
import pathlib
import time
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from shootax._errors import FileFormatError
from shootax._storage import container

FORMAT = 2


@dataclasses.dataclass
class Checkpoint:
    """A file that is kept up to date while training goes on, at most once in so many seconds."""

    path: pathlib.Path
    every: float = 30.0
    written: float = dataclasses.field(default_factory=time.monotonic)

    @classmethod
    def at(cls, path: "str | os.PathLike | Checkpoint | None") -> "Checkpoint | None":
        """A checkpoint as `fit` gets it from a user."""
        if path is None or isinstance(path, Checkpoint):
            return path
        return cls(pathlib.Path(path))

    def is_due(self) -> bool:
        return time.monotonic() - self.written >= self.every

    def write(self, mark: str, state: Any, histories: Sequence[Any], record: dict) -> None:
        """Replaces the file. `histories` are dictionaries of columns, `record` is for JSON."""
        tensors = {f"state.{i}": leaf for i, leaf in enumerate(_leaves(state))}
        for i, history in enumerate(histories):
            for name, column in history.items():
                tensors[f"history.{i}.{name}"] = np.asarray(column, np.float64)
        header = {
            "program": "shootax",
            "checkpoint": str(FORMAT),
            "mark": mark,
            "record": json.dumps(record),
        }
        container.write(self.path, header, tensors)
        self.written = time.monotonic()

    def read(self, mark: str, like: Any) -> tuple[Any, list[dict[str, list[float]]], dict] | None:
        """State, histories and record, or nothing if there is no file yet."""
        if not self.path.exists():
            return None
        try:
            header, tensors, checksum = container.read(self.path)
            if header.get("program") != "shootax" or "checkpoint" not in header:
                raise FileFormatError("it is a file of another kind")
            if header["checkpoint"] != str(FORMAT) or checksum is None:
                raise FileFormatError(
                    f"its format is {header['checkpoint']}, this version of shootax resumes from "
                    f"format {FORMAT}"
                )
            if header.get("mark") != mark:
                raise FileFormatError(
                    "it is of another training: the data, the model, the seeds or the settings "
                    "differ. Name another file"
                )
            record = container.parse_json(header.get("record", ""))
            if not isinstance(record, dict):
                raise FileFormatError("its record is not a dictionary")
            return _restored(tensors, like), _histories(tensors), record
        except FileFormatError as error:
            raise FileFormatError(
                f"The checkpoint {self.path} cannot be read: {error}. Remove it to train from the start."
            ) from error


def is_number(leaf: Any) -> bool:
    """Whether an array holds numbers, and not random keys."""
    return not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _leaves(state: Any) -> list[np.ndarray]:
    leaves = jax.tree.leaves(state)
    return [np.asarray(leaf if is_number(leaf) else jax.random.key_data(leaf)) for leaf in leaves]


def _restored(tensors: dict[str, np.ndarray], like: Any) -> Any:
    leaves, tree = jax.tree.flatten(like)
    made = []
    for i, leaf in enumerate(leaves):
        value, want = tensors.get(f"state.{i}"), _leaves(leaf)[0]
        if value is None or (value.shape, value.dtype) != (want.shape, want.dtype):
            raise FileFormatError(
                f"entry {i} of its state is not a {want.dtype} array of shape {want.shape}"
            )
        array = jnp.asarray(value)
        made.append(array if is_number(leaf) else jax.random.wrap_key_data(array))
    return jax.tree.unflatten(tree, made)


def _histories(tensors: dict[str, np.ndarray]) -> list[dict[str, list[float]]]:
    histories: dict[int, dict[str, list[float]]] = {}
    for key, column in tensors.items():
        if key.startswith("history."):
            _, number, *name = key.split(".", 2)
            if not (number.isdecimal() and name and column.ndim == 1):
                raise FileFormatError(f"it has the strange column {key!r}")
            histories.setdefault(int(number), {})[name[0]] = column.tolist()
    return [histories[i] for i in sorted(histories)]


def fingerprint(problem: Any, state: Any, seeds: Sequence[int]) -> str:
    """A short text that differs when the numbers of a training would."""
    recipe = problem.recipe
    loss = f"{recipe.loss.__module__}.{getattr(recipe.loss, '__qualname__', type(recipe.loss))}"
    words = (loss, problem.optimizer, repr(recipe.schedule), recipe.batch_size, recipe.shared_times)
    digest = hashlib.sha256(repr((words, recipe.clipped, recipe.scaled, tuple(seeds))).encode())
    arrays = eqx.filter((problem.data, problem.validation, problem.settings), eqx.is_array)
    for leaf in (*_leaves(arrays), *_leaves(state)):
        digest.update(f"{leaf.dtype}{leaf.shape}".encode() + np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()
