"""The context of one run of a sweep."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any


@dataclasses.dataclass(frozen=True)
class Context:
    """What the function of a sweep gets besides its configuration and seed.

    **Arguments:**

    - `checkpoint`: a path for the state of the training. Pass it to [`shootax.fit`][], or write any
        file or folder there yourself: after an interruption the function is called again and finds
        it. It is removed when the results are on disk.
    - `shared`: the values that all runs of the sweep share.
    - `out`: the folder of the sweep.
    - `name`: of this run, or group of runs, for files.
    - `checkpoint_seconds`: how often to write the checkpoint.
    """

    checkpoint: pathlib.Path
    shared: dict[str, Any]
    out: pathlib.Path
    name: str
    checkpoint_seconds: float
    _say: Callable[[dict[str, Any]], None] = dataclasses.field(repr=False)

    @property
    def folder(self) -> pathlib.Path:
        """A folder for the files of this run, such as its model. It is created on first access."""
        folder = self.out / "models" / self.name
        folder.mkdir(exist_ok=True)
        return folder

    def progress(self, done: int | None = None, total: int | None = None, text: str = "") -> None:
        """Shows how far the run is: `done` of `total` steps, or just a text."""
        message: dict[str, Any] = {"text": str(text)}
        if done is not None and total is not None:
            message |= {"done": int(done), "total": int(total)}
        self._say(message)
