"""Files that are whole at any moment: written beside their place, then moved there in one go."""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from typing import Any

STALE = 24 * 3600.0
"""A temporary file that has not changed for so many seconds belongs to a writer that died."""

_NO_ROOM = {
    errno.ENOSPC,
    errno.EFBIG,
    errno.EIO,
    errno.EROFS,
    getattr(errno, "EDQUOT", errno.ENOSPC),
}
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS}


@contextlib.contextmanager
def replaced(path: str | os.PathLike) -> Iterator[str]:
    """A temporary file to write to, which takes the place of `path` when all went well.

    Its contents are on the disk before it gets the name, so that not even a loss of power leaves
    half a file. A symbolic link stays one: the file that it points to is replaced. Several files
    can be made to appear together by entering one of these for each in an `ExitStack`.
    """
    path = pathlib.Path(os.path.realpath(path))
    remove_temporaries(path)
    with _room_for(path):
        temporary = _temporary(path)
        try:
            yield temporary
            os.chmod(temporary, 0o666 & ~_umask())  # as any new file; a temporary one is private
            _sync_file(temporary)
            os.replace(temporary, path)
        except BaseException:
            pathlib.Path(temporary).unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


@contextlib.contextmanager
def _room_for(path: pathlib.Path) -> Iterator[None]:
    """Says which file a full or broken disk has no room for, not which temporary one."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno not in _NO_ROOM:
            raise
        reason = os.strerror(error.errno)
        text = f"{path} could not be written ({reason}). What was there before is unchanged."
        raise OSError(error.errno, text) from error


def write_json(path: str | os.PathLike, value: Any) -> None:
    """Writes `value` as JSON, whole or not at all."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def checksum(value: Any) -> str:
    """SHA-256 of what JSON holds, however it is laid out."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes text in UTF-8, whole or not at all."""
    with replaced(path) as temporary:
        pathlib.Path(temporary).write_text(text, encoding="utf-8")


def check_output(path: str | os.PathLike, inputs: Iterable[str | os.PathLike] = ()) -> None:
    """Refuses, before the work, a place where the result could not be written after it.

    **Arguments:**

    - `path`: the file to be written. A file that is there already may be replaced.
    - `inputs`: files that are read, none of which may be the same file under any name.
    """
    path = pathlib.Path(path)
    for source in inputs:
        if _same(path, source):
            raise ValueError(
                f"Writing {path} would overwrite {source} itself, which is read. Choose another name "
                "for the output."
            )
    place = pathlib.Path(os.path.realpath(path))
    if os.path.isdir(place):
        raise ValueError(f"{path} is a folder. Give the name of a file.")
    if not os.path.isdir(place.parent):
        raise ValueError(f"There is no folder {place.parent} to write {path.name} to.")
    there = os.path.exists(place)
    if there and not os.path.isfile(place):
        raise ValueError(f"{path} is not an ordinary file, so it cannot be replaced by one.")
    if there and not os.access(place, os.W_OK):
        raise ValueError(f"{path} is write-protected. Choose another name for the output.")
    try:
        with contextlib.suppress(FileNotFoundError):
            os.lstat(place)  # tells of a name that no file can have
        os.unlink(_temporary(place))
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written to the folder {place.parent} ({error.strerror})."
        ) from error


def check_place(path: str | os.PathLike) -> None:
    """Raises unless a file can be written at `path`."""
    place = pathlib.Path(path)
    if place.is_dir():
        raise IsADirectoryError(f"{path} is a folder, expected the name of a file.")
    if not place.parent.is_dir():
        raise FileNotFoundError(
            f"Cannot write {path}: there is no folder {place.parent}. Create it first."
        )


def _same(path: pathlib.Path, other: str | os.PathLike) -> bool:
    """Whether both are one file: by name, through links, or in another spelling of the name."""
    try:
        return os.path.samefile(path, other)
    except OSError:  # one of them does not exist yet
        return os.path.realpath(path) == os.path.realpath(other)


def _temporary(path: pathlib.Path) -> str:
    """An empty file beside `path`, in the same file system, so that it can be moved in one go."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=".part")
    os.close(handle)
    return name


def _prefix(path: pathlib.Path) -> str:
    return path.name[:60] + "."  # a long name still leaves room for the ending


def is_temporary(found: str | os.PathLike, path: str | os.PathLike) -> bool:
    """Whether a file was begun by a write of `path` that did not come to its end."""
    pattern = re.escape(_prefix(pathlib.Path(path))) + r"[a-z0-9_]{8}\.part"
    return re.fullmatch(pattern, pathlib.Path(found).name) is not None


def remove_temporaries(path: pathlib.Path, older: float = STALE) -> None:
    """Removes what writes of `path` that were killed have left, if it is so many seconds old."""
    with contextlib.suppress(OSError), os.scandir(path.parent) as entries:
        for entry in entries:
            if is_temporary(entry, path):
                with contextlib.suppress(OSError):
                    if time.time() - entry.stat().st_mtime >= older:
                        os.unlink(entry)


def _sync_file(name: str) -> None:
    with open(name, "r+b") as file:
        try:
            os.fsync(file.fileno())
        except OSError as error:
            if error.errno not in _CANNOT_SYNC:
                raise  # the disk is full or broken: the old file must stay


def _sync_folder(folder: pathlib.Path) -> None:
    """So that the new name is on the disk, too. Windows cannot, and does not need it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
