"""Rank tests by the words that they share with a change; rare words count most."""

import ast
import collections
import dataclasses
import functools
import math
import pathlib
import re
from collections.abc import Collection

from .edits import Edit
from .nursery import ROOT
from .outline import outline, owner
from .sample import SOURCE, package


@dataclasses.dataclass(frozen=True)
class Document:
    """A test function, and the words of its text, its decorators and the name of its file."""

    name: str
    words: frozenset[str]
    quick: bool
    slow: bool

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]


def _words(text: str) -> list[str]:
    found = []
    for word in re.findall(r"[A-Za-z_]{3,}", text):
        found.append(word.lower().strip("_"))
        found += [part for part in word.lower().split("_") if len(part) > 2]
    return [word.removesuffix("s") for word in found]


@functools.cache
def _documents(files: tuple[str, ...]) -> tuple[list[Document], dict[str, float]]:
    out, counts = [], collections.Counter()
    listed = (ROOT / "tests" / "long_cases.txt").read_text("utf-8").splitlines()
    for file in files:
        source = (ROOT / file).read_text("utf-8")
        lines, place = source.splitlines(), file.replace("/", " ").replace("test", " ")
        helpers: dict[str, str] = {}
        for node in ast.parse(source).body:
            first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
            text = "\n".join(lines[first - 1 : node.end_lineno])
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test"):
                used = " ".join(helpers[w] for w in set(re.findall(r"\w+", text)) if w in helpers)
                words = frozenset(_words(f"{place} {text} {used}"))
                name = f"{file}::{node.name}"
                whole = name in listed or bool(re.search(r"^@pytest\.mark\.slow", text, re.M))
                slow = whole or "mark.slow" in text or any(n.startswith(f"{name}[") for n in listed)
                out.append(Document(name, words, not whole, slow))
                counts.update(words)
            elif isinstance(node, ast.FunctionDef | ast.ClassDef):
                helpers[node.name] = text
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                helpers[node.targets[0].id] = text
    return out, {word: math.log(len(out) / count) for word, count in counts.items()}


def _query(edit: Edit) -> dict[str, float]:
    """The words of a change: of its line, its function, its module and its package."""
    source = (SOURCE / edit.file).read_bytes()
    functions, lines = outline(source), source.decode().splitlines()
    first, _, _ = owner(functions, edit.line)
    last = min((end for start, end, *_ in functions if start == first), default=len(lines))
    public = [name for *_, name, _ in functions if "." not in name and not name.startswith("_")]
    around = lines[max(edit.line - 3, 0) : edit.line + 4]
    weights: dict[str, float] = {}
    for weight, text in (
        (0.15, "\n".join(lines[first - 1 : last])),
        (0.6, " ".join(public)),
        (0.6, "\n".join(around)),
        (1.0, f"{edit.old} {lines[edit.line - 1]}"),
        (1.5, package(edit.file).replace("sklearn", "estimators")),
        (2.0, f"{edit.function.replace('.', ' ')} {pathlib.PurePath(edit.file).stem}"),
    ):
        weights |= {word: max(weight, weights.get(word, 0.0)) for word in _words(text)}
    return weights


def guess(
    edit: Edit,
    files: tuple[str, ...],
    most: int = 40,
    *,
    slow: bool = False,
    also: Collection[str] = (),
) -> dict[str, float]:
    """The nearest quick or slow test functions, best first, each with its score.

    Up to `most` further functions from `also` follow, whatever their words.
    """
    documents, rare = _documents(files)
    query, scores = _query(edit), {}
    for document in documents:
        if not (document.slow if slow else document.quick):
            continue
        found = sum(w * rare[word] for word, w in query.items() if word in document.words)
        scores[document.name] = found / math.log(20 + len(document.words))
    ranked = sorted(scores.items(), key=lambda entry: -entry[1])
    more = [entry for entry in ranked[most:] if entry[0] in also]
    return dict(ranked[:most] + more[:most])


def near_words(edit: Edit) -> list[str]:
    """The words that matter most: of the line, the function, the module and the package."""
    return [word for word, weight in _query(edit).items() if weight >= 1]
