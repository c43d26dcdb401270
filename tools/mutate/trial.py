"""One change, and the tests that should notice it."""

import dataclasses
import os
import shutil
import sys

from .edits import Edit
from .nursery import FOLDER, child
from .reach import Test
from .sample import SOURCE


@dataclasses.dataclass(frozen=True)
class Outcome:
    """`noticed` says how: by a test, by an error of the import, by running too long; or "" if not."""

    noticed: str
    test: str
    tests: int
    seconds: float


class Chooser:
    """A plugin for pytest: the tests that are wanted, in their order, and the first that fails."""

    def __init__(self, wanted: list[str]):
        self.wanted = {name: i for i, name in enumerate(wanted)}
        self.failed, self.ran, self.broken = "", 0, ""

    def pytest_collection_modifyitems(self, items):
        kept = [item for item in items if item.nodeid in self.wanted]
        items[:] = sorted(kept, key=lambda item: self.wanted[item.nodeid])

    def pytest_collectreport(self, report):
        if report.failed:
            self.broken = self.broken or report.nodeid or "collection"

    def pytest_runtest_logreport(self, report):
        self.ran += report.when == "call"
        if report.failed:
            self.failed = self.failed or report.nodeid


def _overlay(edit: Edit, name: str) -> str:
    """A copy of the source with the change in it; the files that stay are links."""
    place = FOLDER / "overlay" / name
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(SOURCE, place, copy_function=os.link)
    file = place / edit.file
    file.unlink()
    file.write_bytes(edit.apply((SOURCE / edit.file).read_bytes()))
    return str(place)


def _run(overlay: str, tests: list[str], marks: str, scratch: str) -> dict:
    import pytest

    sys.path.insert(0, overlay)
    os.environ["PYTHONPATH"] = overlay
    chooser = Chooser(tests)
    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    options = ["-x", "-q", "-p", "no:cacheprovider", "-m", marks, f"--basetemp={scratch}"]
    try:
        code = pytest.main([*files, *options], plugins=[chooser])
    except SystemExit as end:  # raised by a conftest that cannot be imported
        code, chooser.broken = 4, chooser.broken or str(end)
    broken = chooser.broken or ("" if code in (0, 1, 5) else f"pytest ended with {int(code)}")
    return {"failed": chooser.failed, "broken": broken, "ran": chooser.ran}


def trial(edit: Edit, tests: list[Test], marks: str, name: str, patience: float = 5.0) -> Outcome:
    """Makes one change and runs tests until one fails."""
    if not tests:
        return Outcome("", "", 0, 0.0)
    overlay, scratch = _overlay(edit, name), str(FOLDER / "scratch" / name)
    os.makedirs(FOLDER / "scratch", exist_ok=True)
    limit = 60 + patience * sum(test.seconds for test in tests)
    names = [test.name for test in tests]
    found, seconds = child(
        lambda: _run(overlay, names, marks, scratch), f"trial-{name}", limit, 6 * limit
    )
    shutil.rmtree(overlay, ignore_errors=True)
    shutil.rmtree(scratch, ignore_errors=True)
    if found is None:
        return Outcome("limit or crash", "", 0, seconds)
    noticed = "test" if found["failed"] else "import" if found["broken"] else ""
    return Outcome(noticed, found["failed"] or found["broken"], found["ran"], seconds)
