"""The command `shootax`, run in this process."""

import sys

import pytest

import shootax as sx
from shootax.cli import main


@pytest.fixture
def shootax(monkeypatch, capsys):
    """Runs a command: its exit code or message, and what it printed."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["shootax", *map(str, arguments)])
        monkeypatch.setattr(sx, "use_compilation_cache", lambda: None)
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return run
