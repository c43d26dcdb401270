"""Atomic writes: a file is written next to its final path, then moved there in one operation."""

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
"""A temporary file that has not changed for this many seconds is from a writer that died."""

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
    """Yield the name of a temporary file, which replaces `path` at the end if there was no error.

    Its contents are on the disk before it is renamed, so that not even a power failure leaves half a
    file. A symbolic link stays one: the file that it points to is replaced. To make several files
    appear together, enter one of these contexts for each in an `ExitStack`.
    """
    path = pathlib.Path(os.path.realpath(path))
    remove_temporaries(path)
    with _room_for(path):
        temporary = _temporary(path)
        try:
            yield temporary
            os.chmod(temporary, 0o666 & ~_umask())  # like any new file; a temporary one is private
            _sync_file(temporary)
            os.replace(temporary, path)
        except BaseException:
            pathlib.Path(temporary).unlink(missing_ok=True)
            raise
    _sync_folder(path.parent)


@contextlib.contextmanager
def _room_for(path: pathlib.Path) -> Iterator[None]:
    """Name the file, not the temporary one, if the disk is full or broken."""
    try:
        yield
    except OSError as error:
        if error.errno is None or error.errno not in _NO_ROOM:
            raise
        reason = os.strerror(error.errno)
        text = f"{path} could not be written ({reason}). What was there before is unchanged."
        raise OSError(error.errno, text) from error


def write_json(path: str | os.PathLike, value: Any) -> None:
    """Write `value` as JSON, atomically."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


def checksum(value: Any) -> str:
    """The SHA-256 of a JSON value, independent of its formatting."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def write_text(path: str | os.PathLike, text: str) -> None:
    """Write text in UTF-8, atomically."""
    with replaced(path) as temporary:
        pathlib.Path(temporary).write_text(text, encoding="utf-8")


def check_output(path: str | os.PathLike, inputs: Iterable[str | os.PathLike] = ()) -> None:
    """Raise, before a long computation, if its result could not be written to `path`.

    **Arguments:**

    - `path`: the file to be written. It may exist already.
    - `inputs`: files that are read. `path` must not be one of them, under any name.
    """
    path = pathlib.Path(path)
    for source in inputs:
        if _same(path, source):
            raise ValueError(
                f"Writing {path} would overwrite {source} itself, which is an input. Choose another "
                "name for the output."
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
            os.lstat(place)  # raises if no file can have this name
        os.unlink(_temporary(place))
    except OSError as error:
        raise ValueError(
            f"{path} cannot be written to the folder {place.parent} ({error.strerror})."
        ) from error


def check_place(path: str | os.PathLike) -> None:
    """Raise unless a file can be written at `path`."""
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
    """Create an empty file next to `path`, in the same file system, so that moving it is atomic."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=".part")
    os.close(handle)
    return name


def _prefix(path: pathlib.Path) -> str:
    return path.name[:60] + "."  # a long name still leaves room for the ending


def is_temporary(found: str | os.PathLike, path: str | os.PathLike) -> bool:
    """Whether the file `found` is left over from an unfinished write of `path`."""
    pattern = re.escape(_prefix(pathlib.Path(path))) + r"[a-z0-9_]{8}\.part"
    return re.fullmatch(pattern, pathlib.Path(found).name) is not None


def remove_temporaries(path: pathlib.Path, older: float = STALE) -> None:
    """Remove what killed writes of `path` have left, if it is at least `older` seconds old."""
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
    """Bring the new name to the disk, too. Windows cannot do this, and does not need it."""
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
