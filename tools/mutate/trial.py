"""One change, and the tests that should notice it."""

import contextlib
import dataclasses
import importlib
import os
import pathlib
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

from .edits import Edit
from .nursery import FOLDER, child
from .reach import Test, words_of
from .sample import SOURCE

QUICK = "not slow and not browser"
LONG = "slow and not browser"
FIRST = 6.0  # seconds of tests that run before the rest is collected


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`noticed` says how: by a test, while tests are collected, by a crash; or "" if not.

    `invalid` is a change with which its own module cannot be imported, `capped` one whose tests
    took longer than allowed: it counts as not noticed.
    """

    noticed: str
    test: str
    tests: int
    seconds: float
    invalid: bool = False
    capped: bool = False


class Chooser:
    """A plugin for pytest: the tests that are wanted, in their order, and those that fail."""

    def __init__(self, wanted: Callable[[str], Any]):
        self.wanted = wanted
        self.failed: list[str] = []
        self.ran, self.broken = 0, ""

    def pytest_collection_modifyitems(self, items):
        ranks = {item: self.wanted(item.nodeid) for item in items}
        items[:] = sorted((i for i in items if ranks[i] is not None), key=lambda i: ranks[i])

    def pytest_collectreport(self, report):
        if report.failed:
            self.broken = self.broken or report.nodeid or "collection"

    def pytest_runtest_logreport(self, report):
        self.ran += report.when == "call"
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)


@contextlib.contextmanager
def overlay(edit: Edit | None, name: str) -> Iterator[str]:
    """A copy of the source, with the change in it; the files that stay are links."""
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


def run_tests(
    place: str, files: list[str], wanted: Callable[[str], Any], marks: str, *options: str
) -> Chooser:
    """Runs tests against the source in `place`, in this process."""
    import pytest

    if place not in sys.path:
        sys.path.insert(0, place)
    os.environ["PYTHONPATH"] = place
    chooser = Chooser(wanted)
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


def _quick(edit: Edit, place: str, tests: list[Test], files: list[str]) -> dict:
    """The nearest tests first, as collecting many files takes longer than most tests."""
    spent, near = 0.0, 0
    for test in tests:
        spent += test.seconds
        near += spent <= FIRST or near == 0
    stages = [_ranked([t.name for t in part]) for part in (tests[:near], tests[near:]) if part]
    stages += [([file], lambda name: _distance(edit, name)) for file in files]
    ran, chooser = 0, Chooser(lambda name: None)
    for chosen, rank in stages:
        chooser = run_tests(place, chosen, rank, QUICK, "-x")
        ran += chooser.ran
        if chooser.failed or chooser.broken:
            break
    return _found(edit, chooser, ran)


def _ranked(names: list[str]) -> tuple[list[str], Callable[[str], Any]]:
    files = list(dict.fromkeys(name.partition("::")[0] for name in names))
    return files, {name: i for i, name in enumerate(names)}.get


def _distance(edit: Edit, name: str) -> int:
    return -sum(word in name.lower() for word in words_of(edit))


def _long(edit: Edit, place: str, files: list[str]) -> dict:
    chooser = run_tests(place, files, lambda name: _distance(edit, name), LONG, "-x")
    return _found(edit, chooser, chooser.ran)


def judged(found: Any, seconds: float, stopped: bool) -> Outcome:
    """What a process that ran tests has found; `None` if it did not come to its end."""
    if found is None:
        return Outcome("" if stopped else "crash", "", 0, seconds, capped=stopped)
    if found["invalid"]:
        return Outcome("", found["broken"], found["ran"], seconds, invalid=True)
    noticed = "test" if found["failed"] else "collection" if found["broken"] else ""
    return Outcome(noticed, found["failed"] or found["broken"], found["ran"], seconds)


def trial(edit: Edit, tests: list[Test], files: list[str], cap: float) -> Outcome:
    """Makes one change and runs tests until one fails, or the processor time is used up.

    First some tests, then all those of some files, of which nothing is recorded.
    """
    if not tests and not files:
        return Outcome("", "", 0, 0.0)
    name = f"{edit.name}-{os.getpid()}"
    with overlay(edit, name) as place:
        return judged(*child(lambda: _quick(edit, place, tests, files), name, cap, 6 * cap))


def long_trial(edit: Edit, files: list[str], cap: float) -> Outcome:
    """The same with the tests marked as slow of some files, whose lines are not recorded."""
    if not files:
        return Outcome("", "", 0, 0.0)
    name = f"{edit.name}-long-{os.getpid()}"
    with overlay(edit, name) as place:
        return judged(*child(lambda: _long(edit, place, files), name, cap, 6 * cap))


def red(tests: list[str], cap: float = 900.0) -> list[str]:
    """Those of some tests that fail without any change."""
    out, files = [], sorted({name.partition("::")[0] for name in tests})
    with overlay(None, f"unchanged-{os.getpid()}") as place:
        for file in files:
            mine = {name: i for i, name in enumerate(n for n in tests if n.startswith(file + "::"))}

            def work(file=file, mine=mine):
                return run_tests(place, [file], mine.get, "not browser").failed

            found, *_ = child(work, f"unchanged-{os.getpid()}", cap, 4 * cap)
            out += list(mine) if found is None else found
    return out
