"""The context of one run of a sweep."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Context:
    """The third argument of a sweep's function, after the configuration and the seed.

    **Arguments:**

    - `checkpoint`: a path for the state of the training. Pass it to [`shootax.fit`][], or write any
        file or folder there yourself. After an interruption, the function is called again and finds
        it there. It is removed once the results are on disk.
    - `shared`: the values that all runs of the sweep share.
    - `out`: the folder of the sweep.
    - `name`: the name of this run, or group of runs, for use in file names.
    - `checkpoint_seconds`: the interval between checkpoints, in seconds.
    """

    checkpoint: pathlib.Path
    shared: dict[str, Any]
    out: pathlib.Path
    name: str
    checkpoint_seconds: float
    _say: Callable[[dict[str, Any]], None] = dataclasses.field(repr=False)

    @property
    def folder(self) -> pathlib.Path:
        """The folder for files of this run, such as its model. It is created on first access."""
        folder = self.out / "models" / self.name
        folder.mkdir(exist_ok=True)
        return folder

    def progress(self, done: int | None = None, total: int | None = None, text: str = "") -> None:
        """Report progress: `done` of `total` steps, or a text."""
        message: dict[str, Any] = {"text": str(text)}
        if done is not None and total is not None:
            message |= {"done": int(done), "total": int(total)}
        self._say(message)
