"""A short part of `make torture`, and the bookkeeping of all of it."""

import io
import json
import os
import pathlib
import subprocess
import sys

import pytest

from tools.torture import fuzz, ledger
from tools.torture.kinds import Kind
from tools.torture.mutations import damaged

ROOT = pathlib.Path(__file__).parents[1]


@pytest.fixture
def noted():
    """Outcomes of a part that says nothing."""
    return ledger.Ledger("fuzz", io.StringIO())


@pytest.mark.parametrize("kind", ["model, format", "NumPy export"])
def test_damaged_files(kind, noted, tmp_path):
    fuzz.run(7, 0.02, tmp_path, noted, kind)
    assert len(noted.entries) > 100
    assert ledger.failures(noted.entries) == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_of_a_process_that_saves(tmp_path):
    """All of it, as `make torture` runs it: three kills, a table, and results as JSON."""
    out = tmp_path / "torture.json"
    options = ["--parts", "kills", "--only", "save", "--scale", "0.05", "--seed", "7"]
    done = subprocess.run(
        [sys.executable, "-m", "tools.torture", *options, "--json", out, "--folder", tmp_path],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "| kills | save | 3 | 3 | 0 | 0 | 0 |" in done.stdout
    found = json.loads(out.read_text())
    assert found["complete"]
    assert found["rows"] == [{"part": "kills", "case": "save", "survived": 3}]


def careless(tmp_path, read):
    path = tmp_path / "file"
    path.write_bytes(b"number 25")
    return Kind("careless", path, read)


def test_a_change_that_goes_unnoticed_is_told(noted, tmp_path):
    kind = careless(tmp_path, lambda path: path.read_bytes())
    fuzz.try_file(kind, b"number 26", False, noted)
    assert [entry["outcome"] for entry in ledger.failures(noted.entries)] == ["silent"]


def test_an_exception_of_others_is_told(noted, tmp_path):
    kind = careless(tmp_path, lambda path: int(path.read_bytes()[7:]))
    fuzz.try_file(kind, b"number x", False, noted)
    (entry,) = ledger.failures(noted.entries)
    assert entry["outcome"] == "unclear"
    assert "invalid literal" in entry["detail"]


def test_the_table_counts_everything(noted):
    for outcome in ("survived", "survived", "lost", "unprotected"):
        noted.note("a", outcome)
    noted.judge("b", [("unclear", "why")])
    text = ledger.table(noted.entries)
    assert "| fuzz | a | 3 | 2 | 1 | 0 | 0 |" in text
    assert "| **all** |  | 4 | 2 | 1 | 0 | 1 |" in text
    assert "fuzz, a: 1 more files were read with a change" in text


def test_damage_is_seeded_and_never_nothing():
    import random

    data = bytes(range(256)) * 8
    first, again = ([damaged(data, random.Random(3)) for _ in range(1)] for _ in range(2))
    assert first == again
    rng = random.Random(0)
    assert all(damaged(data, rng) != data for _ in range(200))
