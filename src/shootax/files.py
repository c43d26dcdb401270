"""Files that are whole at any moment: written beside their place, then moved there in one go."""

import contextlib
import json
import os
import pathlib
import tempfile
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def replaced(path: str | os.PathLike) -> Iterator[str]:
    """A temporary file to write to, which takes the place of `path` when all went well."""
    path = pathlib.Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name, suffix=".part")
    os.close(handle)
    try:
        yield temporary
        os.chmod(temporary, 0o666 & ~_umask())  # as any new file; a temporary one is private
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def write_json(path: str | os.PathLike, value: Any) -> None:
    """Writes `value` as JSON, whole or not at all."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    with replaced(path) as temporary:
        pathlib.Path(temporary).write_text(text, encoding="utf-8")


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
