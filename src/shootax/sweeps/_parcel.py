"""Send files between machines that share no folder."""

import os
import pathlib
from collections.abc import Iterable, Mapping

from shootax._files import replaced

Parcel = dict[str, bytes]


def pack(place: pathlib.Path, leave_out: Iterable[str] = ()) -> Parcel:
    """The contents of a file, under the name `""`, or of all files in a folder, by relative path."""
    if place.is_file():
        return {"": place.read_bytes()}
    skipped = set(leave_out)
    found = {}
    for path in sorted(place.rglob("*")):
        inside = path.relative_to(place)
        if path.is_file() and not path.is_symlink() and inside.parts[0] not in skipped:
            found[inside.as_posix()] = path.read_bytes()
    return found


def unpack(parcel: Mapping[str, bytes], place: pathlib.Path) -> None:
    """Write packed files, each atomically, and none outside `place`."""
    for name, content in parcel.items():
        inside = pathlib.PurePosixPath(name)
        if inside.is_absolute() or ".." in inside.parts or "\\" in name or ":" in name:
            raise ValueError(f"A file of a run must be in the folder of the sweep, got {name!r}.")
        path = place / inside if name else place
        path.parent.mkdir(parents=True, exist_ok=True)
        with replaced(path) as temporary:
            pathlib.Path(temporary).write_bytes(content)


def signature(place: pathlib.Path) -> tuple[tuple[str, int, int], ...]:
    """A value that changes whenever the file, or any file of the folder, does."""
    paths = [place] if place.is_file() else sorted(place.rglob("*"))
    found = []
    for path in paths:
        try:
            status = os.stat(path)
        except OSError:  # it was replaced at that moment
            continue
        found.append((str(path), status.st_mtime_ns, status.st_size))
    return tuple(found)
