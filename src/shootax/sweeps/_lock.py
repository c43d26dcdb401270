"""A lock that a process holds on a file until it ends, however it ends."""

import contextlib
import errno
import pathlib
import warnings
from collections.abc import Iterator
from typing import IO

HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)


@contextlib.contextmanager
def locked(path: pathlib.Path) -> Iterator[bool]:
    """Take the lock and yield whether it was free. Exiting the block releases it."""
    with open(path, "a+", encoding="utf-8") as file:
        try:
            _take(file)
        except OSError as error:
            if error.errno in HELD:
                yield False
                return
            # Some network file systems have no locks, but a sweep should still run there.
            warnings.warn(
                f"{path.parent} cannot be locked ({error.strerror}). Do not run two sweeps in it.",
                stacklevel=2,
            )
        yield True


def _take(file: IO[str]) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt

        file.seek(0)
        getattr(msvcrt, "locking")(file.fileno(), getattr(msvcrt, "LK_NBLCK"), 1)  # noqa: B009
    else:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
