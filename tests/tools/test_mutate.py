"""The tool that changes the source: which changes it finds, and that results outlive other edits."""

import ast
import pathlib
import sys
import time

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from tools.mutate import nursery, trial
from tools.mutate.edits import edits
from tools.mutate.guess import guess
from tools.mutate.outline import outline, owner
from tools.mutate.sample import SOURCE as FILES
from tools.mutate.sample import every_edit, named, package, sample

SOURCE = b'''"""A docstring with 3 numbers."""
import os

LIMIT = 5


def area(width: int, height=2.0, *, unit=True):
    """Not 7."""
    checks.positive(width)
    if width < 0:
        raise ValueError("at least 0")
    print("never 4")
    sides = pair(width, height, scale=unit, label=1)
    return -sides[0] * sides[1] if unit and not os.sep else width + 1
'''


def changes(source=SOURCE):
    return {(e.line, e.kind, e.old.strip(), e.new.strip()) for e in edits("a.py", source)}


def test_changes_of_a_small_file():
    found = changes()
    assert {
        (4, "constant", "5", "6"),
        (7, "constant", "2.0", "4.0"),
        (7, "constant", "True", "False"),
        (9, "check", "checks.positive(width)", "pass"),
        (10, "check", "width < 0", "False"),
        (10, "boundary", "<", "<="),
        (10, "comparison", "<", ">"),
        (13, "arguments", "(width, height, scale=unit, label=1)", "(height, width, scale=unit, label=1)"),
        (13, "option", "(width, height, scale=unit, label=1)", "(width, height, label=1)"),
        (14, "index", "0", "1"),
        (14, "sign", "-sides[0]", "(sides[0])"),
        (14, "factor", "-sides[0] * sides[1]", "(sides[1])"),
        (14, "condition", "and", "or"),
        (14, "condition", "not os.sep", "(os.sep)"),
        (14, "sign", "+", "-"),
    } <= found  # fmt: skip
    untouched = {1, 2, 8, 11, 12}  # docstrings, imports, messages
    assert untouched.isdisjoint(line for line, *_ in found)
    assert not any(new == "2" and old == "1" and line == 13 for line, _, old, new in found)


def test_every_change_is_a_program():
    for edit in edits("a.py", SOURCE):
        changed = edit.apply(SOURCE)
        ast.parse(changed)
        assert changed != SOURCE


def test_names_outlive_other_edits():
    names = {edit.name for edit in edits("a.py", SOURCE)}
    later = SOURCE.replace(b"LIMIT = 5\n", b"LIMIT = 6\n\nMORE = 1\n")
    moved = {edit.name for edit in edits("a.py", later)}
    assert len(names - moved) == 1
    assert len(names) == len(edits("a.py", SOURCE))


def test_lines_belong_to_the_innermost_function():
    start = b"x = 1\nclass A:\n    y = 2\n    def f(self):\n"
    source = start + b"        def g():\n            pass\n        return g\n"
    functions = outline(source)
    assert [owner(functions, line)[1] for line in range(1, 8)] == [
        "", "A", "A", "A.f", "A.f.g", "A.f.g", "A.f",
    ]  # fmt: skip
    assert owner(functions, 3)[2] == "", "what runs at import belongs to no test"


def test_the_sample_is_seeded_and_has_all_packages():
    drawn, again, other = sample(320, 0), sample(320, 0), sample(320, 1)
    assert drawn == again != other
    assert len(drawn) >= 300
    assert len({(edit.file, edit.line) for edit in drawn}) == len(drawn)
    folders = {
        p.name for p in pathlib.Path("src/shootax").iterdir() if (p / "__init__.py").exists()
    }
    assert {package(edit.file) for edit in drawn} == folders | {"shootax"}


def test_a_change_is_in_force_and_alone(tmp_path, monkeypatch):
    """No compiled file of the module that is changed is left; all other files are those of the source."""
    monkeypatch.setattr(trial, "FOLDER", tmp_path)
    edit = next(edit for edit in every_edit() if edit.file == "shootax/_kernels/radial.py")
    with trial.overlay(edit, "one") as place:
        for path in FILES.rglob("*.py"):
            copy = pathlib.Path(place) / path.relative_to(FILES)
            changed = (
                edit.apply(path.read_bytes()) if path == FILES / edit.file else path.read_bytes()
            )
            assert copy.read_bytes() == changed
        assert not list(pathlib.Path(place).glob("shootax/_kernels/__pycache__/radial.*"))
    assert not pathlib.Path(place).exists()


def test_outcomes():
    """A limit of time counts as not noticed, a crash or an endless wait as noticed, a broken module not
    at all."""
    found = {"failed": "", "broken": "", "ran": 3, "invalid": False}
    assert trial.judged(None, 60.0, "time").capped
    assert not trial.judged(None, 60.0, "time").noticed
    assert trial.judged(None, 1.0, "").noticed == "crash"
    assert trial.judged(None, 1.0, "idle").noticed == "waits"
    assert trial.judged({**found, "failed": "t"}, 1.0, "").noticed == "test"
    assert trial.judged({**found, "broken": "t"}, 1.0, "").noticed == "collection"
    assert trial.judged(found, 1.0, "").noticed == ""
    broken = trial.judged({**found, "broken": "t", "invalid": True}, 1.0, "")
    assert (broken.invalid, broken.noticed) == (True, "")


def test_tests_by_their_words():
    files = ("tests/test_cache.py", "tests/train/test_streams.py", "tests/export/test_reader.py")
    edit = next(edit for edit in every_edit() if edit.file == "shootax/_train/streams.py")
    ranked = list(guess(edit, files))
    assert ranked[0].startswith("tests/train/test_streams.py::test_")
    # Those that execute a line have a place whatever their words are.
    assert list(guess(edit, files, 1, also=ranked[3:5])) == [ranked[0], ranked[3]]


def test_a_process_that_waits_and_one_that_is_busy(tmp_path, monkeypatch):
    monkeypatch.setattr(nursery, "FOLDER", tmp_path)
    monkeypatch.setattr(nursery, "IDLE", 0.5)

    def busy():
        until = time.process_time() + 9
        while time.process_time() < until:
            pass

    assert nursery.child(lambda: 3, "three", 5, 5)[::2] == (3, "")
    assert nursery.child(lambda: time.sleep(9), "waits", 5, 0.3)[::2] == (None, "idle")
    monkeypatch.setattr(nursery, "IDLE", 0.01)
    assert nursery.child(busy, "busy", 5, 0.3)[::2] == (None, "time")
    assert nursery.child(lambda: 1 // 0, "error", 5, 5)[::2] == (None, "")


@pytest.mark.slow
def test_changes_by_name_have_their_place():
    """When one of these lines is rewritten, `named.toml` follows."""
    assert len({edit.name for edit in named()}) >= 25
