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
import safetensors
import safetensors.numpy

from shootax.errors import FileFormatError
from shootax.files import replaced


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
            "checkpoint": "1",
            "mark": mark,
            "record": json.dumps(record),
        }
        with replaced(self.path) as temporary:
            safetensors.numpy.save_file(tensors, temporary, metadata=header)
        self.written = time.monotonic()

    def read(self, mark: str, like: Any) -> tuple[Any, list[dict[str, list[float]]], dict] | None:
        """State, histories and record, or nothing if there is no file yet."""
        if not self.path.exists():
            return None
        again = "Remove it to train from the start."
        try:
            with safetensors.safe_open(self.path, framework="numpy") as file:
                header = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
            record = json.loads(header["record"])
        except Exception as error:
            raise FileFormatError(
                f"The checkpoint {self.path} cannot be read: it is damaged, cut short or of another "
                f"program ({error}). {again}"
            ) from error
        if header["mark"] != mark:
            raise FileFormatError(
                f"The checkpoint {self.path} is of another training: the data, the model, the seeds "
                f"or the settings differ. Name another file. {again}"
            )
        leaves = [tensors[f"state.{i}"] for i in range(len(jax.tree.leaves(like)))]
        histories: dict[int, dict[str, list[float]]] = {}
        for key, column in tensors.items():
            if key.startswith("history."):
                _, i, name = key.split(".")
                histories.setdefault(int(i), {})[name] = column.tolist()
        return _restored(leaves, like), [histories[i] for i in sorted(histories)], record


def is_number(leaf: Any) -> bool:
    """Whether an array holds numbers, and not random keys."""
    return not jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _leaves(state: Any) -> list[np.ndarray]:
    leaves = jax.tree.leaves(state)
    return [np.asarray(leaf if is_number(leaf) else jax.random.key_data(leaf)) for leaf in leaves]


def _restored(values: list[np.ndarray], like: Any) -> Any:
    leaves, tree = jax.tree.flatten(like)
    made = [
        jnp.asarray(value) if is_number(leaf) else jax.random.wrap_key_data(jnp.asarray(value))
        for value, leaf in zip(values, leaves, strict=True)
    ]
    return jax.tree.unflatten(tree, made)


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
