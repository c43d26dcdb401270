"""Files of tests for a change by their words alone, where nothing is recorded of what they execute."""

import functools
import pathlib
import re

from .edits import Edit
from .nursery import ROOT
from .outline import outline
from .sample import SOURCE, package


@functools.cache
def _texts(files: tuple[str, ...]) -> dict[str, str]:
    return {file: (ROOT / file).read_text("utf-8").lower() for file in files}


@functools.cache
def _public(file: str) -> tuple[str, ...]:
    """The functions and classes at the top of a file that tests may name."""
    names = [name for *_, name, _ in outline((SOURCE / file).read_bytes())]
    return tuple(name.lower() for name in names if "." not in name and not name.startswith("_"))


def _stem(word: str) -> str:
    return word.strip("_").rstrip("s")


def guess(edit: Edit, files: tuple[str, ...], most: int = 3) -> list[str]:
    """The files that name the function of a change, its module or its package most, best first."""
    own, module = _stem(package(edit.file)), _stem(pathlib.PurePath(edit.file).stem)
    own = {"sklearn": "estimator"}.get(own, own)
    names = {part.lower() for part in edit.function.split(".") if len(part) > 3}
    words = set(re.findall(r"[a-z_]{4,}", edit.old.lower()))

    def score(file: str) -> float:
        text, path = _texts(files)[file], file.lower()
        found = 4.0 * (own in path) + 5.0 * (module in pathlib.PurePath(path).stem)
        found += 2.0 * sum(
            min(2, len(re.findall(rf"\b{re.escape(name)}\b", text))) for name in names
        )
        found += 0.5 * sum(min(4, text.count(name)) for name in _public(edit.file))
        return found + 0.5 * sum(word in text for word in words) + min(3, text.count(module)) / 2

    ranked = sorted(files, key=lambda file: (-score(file), file))
    return [file for file in ranked[:most] if score(file) >= 4]
