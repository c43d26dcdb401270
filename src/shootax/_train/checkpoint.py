"""Store the whole state of a training in a file, to resume after an interruption, bit for bit."""

import dataclasses
import json
import os
import pathlib
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from shootax import _checks as checks
from shootax._errors import FileFormatError
from shootax._files import check_place
from shootax._storage import container
from shootax._train.fingerprint import is_number, plain_leaves
from shootax._train.hosts import bytes_of_the_first, leads, several

FORMAT = 4


@dataclasses.dataclass
class Checkpoint:
    """A file with the state of a running training, for the option `checkpoint` of [`shootax.fit`][].

    **Arguments:**

    - `path`: the file.
    - `every`: the minimal number of seconds between two writes.

    !!! example

        ```python
        import jax
        import numpy as np
        import shootax as sx

        x = np.linspace(-1, 1, 40)[:, None]
        net = sx.Net(sx.UpDown(dim=1, inflation=4), particles=3, key=jax.random.key(0))
        every_minute = sx.extend.Checkpoint("training.safetensors", every=60.0)
        result = sx.fit(net, x, x**2, epochs=2, checkpoint=every_minute)
        ```
    """

    path: pathlib.Path
    every: float = 30.0
    written: float = dataclasses.field(default_factory=time.monotonic, init=False)
    failed: bool = dataclasses.field(default=False, init=False)

    def __post_init__(self) -> None:
        self.path = pathlib.Path(checks.path(self.path, "path"))
        self.every = checks.non_negative_number(self.every, "every")

    @classmethod
    def at(cls, path: "str | os.PathLike | Checkpoint | None") -> "Checkpoint | None":
        """Convert the option `checkpoint` of `fit`."""
        if path is None or isinstance(path, Checkpoint):
            return path
        if not isinstance(path, str | os.PathLike):
            raise ValueError(f"checkpoint must be the path of a file, got {path!r}.")
        return cls(pathlib.Path(path))

    def check(self) -> None:
        """Raise an error if it is known in advance that the file cannot be written."""
        if not leads():
            return
        check_place(self.path)
        if not os.access(self.path.parent, os.W_OK):
            raise PermissionError(
                f"Cannot write {self.path}: the folder {self.path.parent} is not writable."
            )

    def is_due(self) -> bool:
        return time.monotonic() - self.written >= self.every

    def write(self, mark: str, state: Any, histories: Sequence[Any], record: dict) -> None:
        """Replace the file. `histories` are dictionaries of columns; `record` is JSON-serialisable.

        If writing fails, as on a full disk, the old file remains. There is one warning, and training
        can continue.
        """
        tensors = {f"state.{i}": leaf for i, leaf in enumerate(plain_leaves(state))}
        for i, history in enumerate(histories):
            for name, column in history.items():
                tensors[f"history.{i}.{name}"] = np.asarray(column, np.float64)
        header = {
            "program": "shootax",
            "checkpoint": str(FORMAT),
            "mark": mark,
            "record": json.dumps(record),
        }
        self.written = time.monotonic()
        if not leads():
            return
        try:
            container.write(self.path, header, tensors)
        except OSError as error:
            if not self.failed:
                warnings.warn(
                    f"The checkpoint {self.path} could not be written ({error}). Training continues, and "
                    "tries again at the next checkpoint.",
                    stacklevel=2,
                )
            self.failed = True

    def read(
        self, mark: str, like: Callable[[dict], Any]
    ) -> tuple[Any, list[dict[str, list[float]]], dict] | None:
        """Return state, histories and record, or `None` if there is no file yet. `like` returns a state
        of the same structure for a record."""
        if not several():
            return self._read(self.path, mark, like) if self.path.exists() else None
        content = self.path.read_bytes() if leads() and self.path.exists() else None
        content = bytes_of_the_first(content)
        if content is None:
            return None
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder) / self.path.name
            copy.write_bytes(content)
            return self._read(copy, mark, like)

    def _read(
        self, path: pathlib.Path, mark: str, like: Callable[[dict], Any]
    ) -> tuple[Any, list, dict]:
        try:
            header, tensors, checksum = container.read(path)
            if header.get("program") != "shootax" or "checkpoint" not in header:
                raise FileFormatError("it is not a checkpoint of shootax")
            if header["checkpoint"] != str(FORMAT) or checksum is None:
                raise FileFormatError(
                    f"its format is {header['checkpoint']}, but this version of shootax resumes from "
                    f"format {FORMAT}"
                )
            if header.get("mark") != mark:
                raise FileFormatError(
                    "it is from another training: the data, the model, the seeds or the settings "
                    "differ. Choose another file"
                )
            record = container.parse_json(header.get("record", ""))
            if not isinstance(record, dict):
                raise FileFormatError("its record is not a dictionary")
            return _restored(tensors, like(record)), _histories(tensors), record
        except FileFormatError as error:
            raise FileFormatError(
                f"The checkpoint {self.path} cannot be read: {error}. Remove it to train from the start."
            ) from error


def _restored(tensors: dict[str, np.ndarray], like: Any) -> Any:
    leaves, tree = jax.tree.flatten(like)
    made = []
    for i, leaf in enumerate(leaves):
        value, expected = tensors.get(f"state.{i}"), plain_leaves(leaf)[0]
        if value is None or (value.shape, value.dtype) != (expected.shape, expected.dtype):
            raise FileFormatError(
                f"entry {i} of its state is not a {expected.dtype} array of shape {expected.shape}"
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
                raise FileFormatError(f"it has the invalid column {key!r}")
            histories.setdefault(int(number), {})[name[0]] = column.tolist()
    return [histories[i] for i in sorted(histories)]
