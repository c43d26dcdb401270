"""Make one change, and run the tests that should notice it."""

import collections
import contextlib
import dataclasses
import importlib
import os
import pathlib
import shutil
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any

import pytest

from .edits import Edit
from .guess import near_words
from .nursery import FOLDER, child
from .sample import SOURCE

QUICK = "not slow and not browser"
LONG = "slow and not browser"
WAIT = 10  # wall-clock seconds for each allowed second of processor time
# How many test functions run before all others, and how many cases of each function.
STAGES = ((2, 4), (8, 8), (10**6, 10**6))


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a change. `noticed` says how it was noticed: by a test, during collection of the
    tests, by a crash, or by tests that wait forever. It is "" if the change was not noticed.

    `invalid` says that the changed module cannot be imported. `capped` says that the tests took longer
    than allowed; the change then counts as not noticed.
    """

    noticed: str
    test: str
    tests: int
    seconds: float
    invalid: bool = False
    capped: bool = False


class Chooser:
    """A pytest plugin that selects the wanted tests in their order, and records which fail."""

    def __init__(
        self,
        wanted: Callable[[str], int | None],
        cases: int,
        done: Collection[str] = (),
        words: Collection[str] = (),
    ):
        self.wanted, self.cases, self.done, self.words = wanted, cases, done, words
        self.started: list[str] = []
        self.failed: list[str] = []
        self.broken = ""

    @pytest.hookimpl(trylast=True)  # after the selection by marks
    def pytest_collection_modifyitems(self, items):
        ranks, counts = {}, collections.Counter()
        for item in sorted(items, key=self._near):
            function = item.nodeid.partition("[")[0]
            rank = self.wanted(item.nodeid)
            rank = self.wanted(function) if rank is None else rank
            if rank is not None and item.nodeid not in self.done and counts[function] < self.cases:
                ranks[item] = rank
                counts[function] += 1
        items[:] = sorted(ranks, key=lambda item: ranks[item])

    def _near(self, item) -> int:
        case = item.nodeid.partition("[")[2].lower()
        return -sum(word in case for word in self.words)

    def pytest_collectreport(self, report):
        if report.failed:
            self.broken = self.broken or report.nodeid or "collection"

    def pytest_runtest_logstart(self, nodeid, location):
        self.started.append(nodeid)

    def pytest_runtest_logreport(self, report):
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


@contextlib.contextmanager
def overlay(edit: Edit | None, name: str) -> Iterator[str]:
    """A copy of the source with the change in it; unchanged files are links."""
    place = FOLDER / "overlay" / name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(
        SOURCE, place, copy_function=os.link, ignore=shutil.ignore_patterns("*.egg-info")
    )
    if edit:
        file = place / edit.file
        file.unlink()
        file.write_bytes(edit.apply((SOURCE / edit.file).read_bytes()))
        for compiled in file.parent.glob(f"__pycache__/{file.stem}.*"):
            compiled.unlink()
    try:
        yield str(place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def run_tests(place: str, files: list[str], chooser: Chooser, marks: str, *options: str) -> Chooser:
    """Run tests against the source in `place`, in this process."""
    if place not in sys.path:
        sys.path.insert(0, place)
    os.environ["PYTHONPATH"] = place
    scratch = FOLDER / "scratch" / pathlib.Path(place).name
    scratch.parent.mkdir(exist_ok=True)
    options = ("-q", "-p", "no:cacheprovider", "-m", marks, f"--basetemp={scratch}", *options)
    try:
        code = pytest.main([*files, *options], plugins=[chooser])
    except SystemExit as end:  # raised by a conftest that cannot be imported
        code, chooser.broken = 4, chooser.broken or str(end)
    if code not in (0, 1, 5):
        chooser.broken = chooser.broken or f"pytest ended with {int(code)}"
    shutil.rmtree(scratch, ignore_errors=True)
    used = sys.modules.get("shootax")
    if used and not str(used.__file__).startswith(place):
        raise RuntimeError(f"The tests ran against {used.__file__}.")
    return chooser


def _imports(edit: Edit) -> bool:
    try:
        importlib.import_module(edit.file.removesuffix(".py").replace("/", "."))
    except BaseException:
        return False
    return True


def _found(edit: Edit, chooser: Chooser, ran: int) -> dict:
    invalid = bool(chooser.broken) and not chooser.failed and not _imports(edit)
    failed = chooser.failed[0] if chooser.failed else ""
    return {"failed": failed, "broken": chooser.broken, "ran": ran, "invalid": invalid}


def _run(edit: Edit, place: str, tests: list[str], marks: str, without: list[str]) -> dict:
    """Run some cases of the nearest tests first, because collecting files takes longer than most
    tests."""
    done, words = list(without), near_words(edit)
    chooser = Chooser(lambda name: None, 0)
    for most, cases in STAGES:
        chosen = tests[:most]
        files = list(dict.fromkeys(name.partition("::")[0] for name in chosen))
        ranks = {name: i for i, name in enumerate(chosen)}
        chooser = run_tests(place, files, Chooser(ranks.get, cases, done, words), marks, "-x")
        done += chooser.started
        if chooser.failed or chooser.broken:
            break
    return _found(edit, chooser, len(done) - len(without))


def judged(found: Any, seconds: float, stopped: str) -> Outcome:
    """The findings of a process that ran tests, or `None` if it did not finish."""
    if found is None:
        noticed = {"": "crash", "idle": "waits", "time": ""}[stopped]
        return Outcome(noticed, "", 0, seconds, capped=not noticed)
    if found["invalid"]:
        return Outcome("", found["broken"], found["ran"], seconds, invalid=True)
    noticed = "test" if found["failed"] else "collection" if found["broken"] else ""
    return Outcome(noticed, found["failed"] or found["broken"], found["ran"], seconds)


def trial(
    edit: Edit, tests: list[str], cap: float, marks: str = QUICK, without: Iterable[str] = ()
) -> Outcome:
    """Make one change, and run test functions until one fails or the processor time is used up.

    The cases in `without` are ignored, because they fail without any change.
    """
    name = f"{edit.name}-{os.getpid()}"
    with overlay(edit, name) as place:
        return judged(
            *child(lambda: _run(edit, place, tests, marks, list(without)), name, cap, WAIT * cap)
        )


def red(tests: list[str], cap: float = 900.0) -> list[str]:
    """The tests, of those given, that fail without any change."""
    out, files = [], sorted({name.partition("::")[0] for name in tests})
    with overlay(None, f"unchanged-{os.getpid()}") as place:
        for file in files:
            mine = {name: i for i, name in enumerate(n for n in tests if n.startswith(file + "::"))}

            def work(file=file, mine=mine):
                chooser = Chooser(mine.get, 10**6)
                return run_tests(place, [file], chooser, "not browser").failed

            found, *_ = child(work, f"unchanged-{os.getpid()}", cap, WAIT * cap)
            out += list(mine) if found is None else found
    return out
