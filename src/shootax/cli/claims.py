"""Test the paper's claims on results."""

import pathlib
from collections.abc import Sequence

from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from shootax.cli.text import say, show_table
from shootax.paper import Finding, compare_recipes

STYLES = {"holds": "green", "opposite": "red", "undecided": ""}


def run(folders: Sequence[pathlib.Path], out: pathlib.Path) -> None:
    """Print a line for each claim and recipe, and write the figure and the tables."""
    console = Console()
    findings, paths = compare_recipes(folders, out)
    show_table(_table(findings), console)
    say(f"Written: {', '.join(path.name for path in paths)} in {out}", console)


def _table(findings: Sequence[Finding]) -> Table:
    table = Table(box=SIMPLE, show_edge=False)
    for heading in ("the paper says", "recipe", "verdict", "estimate", "95 % interval", "p"):
        table.add_column(
            heading, justify="left" if heading[:3] in ("the", "rec", "ver") else "right"
        )
    for finding in sorted(findings, key=lambda each: each.claim.text):
        text = finding.claim.text
        style = STYLES[finding.verdict]
        verdict = f"[{style}]{finding.verdict}[/]" if style else finding.verdict
        numbers = (f"{finding.low:.3g} to {finding.high:.3g}", f"{finding.p:.2g}")
        table.add_row(text, finding.recipe, verdict, f"{finding.estimate:.3g}", *numbers)
    return table
