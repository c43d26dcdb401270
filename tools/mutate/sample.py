"""A seeded sample of the changes, with some of every package and every kind."""

import collections
import hashlib
import itertools
import pathlib
import re
import tomllib

from .edits import Edit, edits
from .outline import outline, owner

SOURCE = pathlib.Path(__file__).parents[2] / "src"
LEAST = 8  # changes of every package, at least
# People judge how a figure looks: in these files, only changes of behaviour count.
FIGURES = re.compile(r"shootax/(plots/|paper/(_questions/)?_?(\w*figures|boxes|sequences)\.py)")
LOOKS = frozenset({"constant", "factor", "sign", "index", "option", "statement"})


def package(file: str) -> str:
    """The package of a file; the top-level modules count as one package."""
    parts = pathlib.PurePosixPath(file).parts
    return parts[1] if len(parts) > 2 else "shootax"


def every_edit() -> list[Edit]:
    """All changes, file by file."""
    out = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        looks = LOOKS if FIGURES.match(name) else ()
        out += [edit for edit in edits(name, path.read_bytes()) if edit.kind not in looks]
    return out


def sample(count: int, seed: int) -> list[Edit]:
    """Draw changes without replacement, at most one per line.

    A change keeps its place in the draw when other code changes, so that results stay valid.
    """

    def lot(edit: Edit) -> str:
        return hashlib.sha256(f"{seed} {edit.name}".encode()).hexdigest()

    packages = collections.defaultdict(list)
    for edit in sorted(every_edit(), key=lot):
        packages[package(edit.file)].append(edit)
    total = sum(map(len, packages.values()))
    drawn = []
    for found in packages.values():
        wanted = max(LEAST, round(count * len(found) / total))
        drawn += itertools.islice(_by_turns(found), wanted)
    return sorted(drawn, key=lot)


def _by_turns(found: list[Edit]):
    """Take one change of each kind in turn, never two of the same line."""
    kinds, lines = collections.defaultdict(collections.deque), set()
    for edit in found:
        kinds[edit.kind].append(edit)
    while kinds:
        for kind in list(kinds):
            while kinds[kind]:
                edit = kinds[kind].popleft()
                if (edit.file, edit.line) not in lines:
                    lines.add((edit.file, edit.line))
                    yield edit
                    break
            else:
                del kinds[kind]


def named() -> list[Edit]:
    """The changes of `named.toml`."""
    listed = tomllib.loads(pathlib.Path(__file__).with_name("named.toml").read_text("utf-8"))
    return [_named(**entry) for entry in listed["change"]]


def _named(what: str, file: str, old: str, new: str) -> Edit:
    source = (SOURCE / "shootax" / file).read_bytes()
    if source.count(old.encode()) != 1:
        raise ValueError(f"{file} must have the words of the change {what!r} once: {old}")
    start = source.index(old.encode())
    line = source.count(b"\n", 0, start) + 1
    end, name = start + len(old.encode()), hashlib.sha256(what.encode()).hexdigest()[:12]
    # The place of the first line, because a change may begin with a character of a longer line.
    function = owner(outline(source), line)[1]
    return Edit(f"shootax/{file}", line, function, what, start, end, old, new, name)
