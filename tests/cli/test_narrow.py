"""Tables of the commands: nothing is cut off, however narrow the terminal is."""

import io

import pytest
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from shootax.cli.text import show_table

WORDS = ("formulation", "dynamic-particles", "12,345,678", "complexity", "0.00123", "of", "words")


def shown(width, **options):
    table = Table(title="Numbers", **options)
    for heading in ("formulation", "parameters", "complexity", "about"):
        table.add_column(heading, no_wrap=heading == "formulation", justify="right")
    table.add_row("dynamic-particles", "12,345,678", "0.00123", "a row of words")
    table.add_row("static", "1", "", "another")
    text = io.StringIO()
    show_table(table, Console(file=text, width=width))
    return text.getvalue()


@pytest.mark.parametrize("width", [20, 40, 60, 80, 120])
@pytest.mark.parametrize(
    "options", [{}, {"box": SIMPLE, "show_edge": False}], ids=["lines", "plain"]
)
def test_every_word_is_there(width, options):
    text = shown(width, **options)
    assert [word for word in WORDS if word not in text] == []
    assert "…" not in text


def test_wide_tables_stay_tables_and_narrow_ones_are_lists():
    assert "formulation: static" not in shown(80)
    assert "formulation: static\nparameters: 1\nabout: another\n" in shown(20)


def test_the_table_of_the_demo_fits_the_usual_terminal():
    from shootax.cli.demo import _table

    numbers = {"parameters": 1557, "test_mse": 0.00123, "penalty": 0.451, "seconds": 12.0}
    measured = {"complexity_log2_frobenius": -0.85, "hamiltonian_drift": 9.9e-6}
    text = io.StringIO()
    row = {"formulation": "dynamic-particles", **numbers, **measured}
    show_table(_table([row]), Console(file=text, width=80))
    lines = text.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert any("dynamic-particles" in line and "9.9e-06" in line for line in lines)
