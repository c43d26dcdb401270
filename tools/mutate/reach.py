"""Record which test executes which line, and how long it takes.

Each test file runs in its own process. A line is identified by its function and its place in the
function, so that a record stays valid when other code changes.
"""

import collections
import dataclasses
import functools
import hashlib
import json
import os
import pathlib
import re
import sys
import time
from typing import Any

from .edits import Edit
from .guess import guess
from .nursery import FOLDER, ROOT, child
from .outline import outline, owner
from .sample import SOURCE

FORMAT = 1
TYPICAL = 3.0  # seconds: a test that takes this long counts half
RED = FOLDER / "red.json"  # tests that noticed a change but also fail without any change
# Tests of benchmarks, of pages and of the layout of the repository.
OTHERS = re.compile(
    r"tests/(bench|docs|platform|tools)/|tests/report/test_browser\.py|tests/test_(architecture|documentation|examples|reference)\.py"
)


@dataclasses.dataclass(frozen=True)
class Test:
    name: str
    seconds: float

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]

    @property
    def function(self) -> str:
        return self.name.partition("[")[0]


class Recorder:
    """A pytest plugin that records time, outcome and lines of every test."""

    def __init__(self, cover: Any):
        self.cover, self.seconds, self.bad = cover, {}, set()

    def pytest_runtest_logstart(self, nodeid, location):
        self.cover.switch_context(nodeid)
        self.seconds[nodeid] = -time.process_time()

    def pytest_runtest_logreport(self, report):
        if not report.passed:
            self.bad.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid, location):
        self.seconds[nodeid] += time.process_time()
        self.cover.switch_context("")


def _record(file: str, marks: str) -> dict:
    import coverage  # pyright: ignore[reportMissingImports]
    import pytest

    sys.path.insert(0, str(SOURCE))
    os.environ["PYTHONPATH"] = str(SOURCE)
    cover = coverage.Coverage(data_file=None, source=[str(SOURCE / "shootax")], config_file=False)
    recorder = Recorder(cover)
    cover.start()
    pytest.main([file, "-q", "-p", "no:cacheprovider", "-m", marks], plugins=[recorder])
    cover.stop()
    functions: dict[str, int] = {}
    reached = collections.defaultdict(lambda: collections.defaultdict(int))
    data = cover.get_data()
    for path in data.measured_files():
        source = pathlib.Path(path)
        listed, name = outline(source.read_bytes()), source.relative_to(SOURCE).as_posix()
        for line, tests in data.contexts_by_lineno(path).items():
            first, function, digest = owner(listed, line)
            if not digest:  # executed by the test that imports the module first
                continue
            key = functions.setdefault(f"{name}::{function}@{digest}", len(functions))
            for test in tests:
                reached[test][key] |= 1 << (line - first)
    passed = {test: s for test, s in recorder.seconds.items() if test not in recorder.bad}
    return {
        "functions": list(functions),
        "tests": {t: [s, {k: hex(v) for k, v in reached[t].items()}] for t, s in passed.items()},
    }


def _digest(file: str, marks: str) -> str:
    return hashlib.sha256(f"{FORMAT} {marks} ".encode() + (ROOT / file).read_bytes()).hexdigest()


def record(marks: str, backwards: bool = False, limit: float = 900.0) -> None:
    """Record new and changed test files. Two processes can share the work and meet in the middle."""
    left = [file for file in test_files() if not _known(file, marks)]
    for i, file in enumerate(reversed(left) if backwards else left):
        if _known(file, marks):  # recorded by another process
            continue
        print(f"[{i + 1}/{len(left)}] which lines {file} executes", end=" ", flush=True)
        name = "reach-" + file.replace("/", "-")
        found, seconds, _ = child(lambda file=file: _record(file, marks), name, limit, 4 * limit)
        found = found or {"functions": [], "tests": {}}
        place = _place(file)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(
            json.dumps({"file": file, "digest": _digest(file, marks), **found}), "utf-8"
        )
        print(f"{len(found['tests'])} tests, {seconds:.0f} s", flush=True)


@functools.cache
def test_files() -> list[str]:
    files = sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py"))
    return [file for file in files if not OTHERS.match(file)]


def _place(file: str) -> pathlib.Path:
    return FOLDER / "reach" / (file.replace("/", "-") + ".json")


def _known(file: str, marks: str) -> bool:
    place = _place(file)
    return place.exists() and json.loads(place.read_text("utf-8"))["digest"] == _digest(file, marks)


class Reach:
    """The stored record."""

    def __init__(self):
        self.tests: dict[str, list[Test]] = {}
        self.functions = collections.defaultdict(list)
        self.seconds = collections.Counter()
        self.recorded: set[str] = set()
        self.red = set(json.loads(RED.read_text("utf-8"))) if RED.exists() else set()
        for place in sorted((FOLDER / "reach").glob("*.json")):
            found = json.loads(place.read_text("utf-8"))
            self.recorded.add(found["file"])
            for name, (seconds, lines) in found["tests"].items():
                test = Test(name, seconds)
                if not (ROOT / test.file).exists():
                    continue
                self.tests.setdefault(test.file, []).append(test)
                self.seconds[test.function] += seconds
                for key, bits in lines.items():
                    function = found["functions"][int(key)]
                    if function.endswith("@"):
                        continue
                    self.functions[function].append((test, int(bits, 16)))

    def nearest(self, edit: Edit, *, slow: bool = False) -> list[str]:
        """The test functions for a change, nearest first: by their words, tests that execute its line
        before tests that execute its function, and short tests before long ones. Tests that execute
        neither, according to the record, come last."""
        first, name, digest = owner(outline((SOURCE / edit.file).read_bytes()), edit.line)
        path, line = f"{edit.file}::{name}", 1 << (edit.line - first)
        found = self.functions.get(f"{path}@{digest}", ())
        exact = {t.function for t, bits in found if bits & line}
        near = {t.function for t in self._reaching(path + "@")}
        inside = name and edit.function == name  # otherwise it runs at import

        def factor(test: str) -> float:
            if not inside or test.partition("::")[0] not in self.recorded:
                return 1.0
            return (1.3 if test in exact else 1.0 if test in near else 0.2) / self._length(test)

        scores = guess(edit, tuple(test_files()), slow=slow, also=exact if inside else ())
        files: dict[str, float] = {}
        for test, score in scores.items():  # files whose best test is a near one
            files.setdefault(test.partition("::")[0], score)
        ranks = {t: factor(t) * (s + 0.3 * files[t.partition("::")[0]]) for t, s in scores.items()}
        return sorted(ranks, key=lambda test: -ranks[test])

    def _length(self, test: str) -> float:
        """A length that grows with the time of a test, over all its cases."""
        return 1 + self.seconds.get(test, 0.0) / TYPICAL

    def _reaching(self, start: str) -> list[Test]:
        return [t for f in self.functions if f.startswith(start) for t, _ in self.functions[f]]
