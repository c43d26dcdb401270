"""The paper's two tables of parameter counts."""

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from shootax.cli.text import show_table
from shootax.paper import COUNTED, parameter_counts


def run(as_json: bool) -> None:
    """Print the tables."""
    entries = parameter_counts()
    if as_json:
        print(json.dumps(entries, indent=1))
        return
    console = Console()
    for name, counted in COUNTED.items():
        table = Table(title=f"Parameters, {name}")
        for heading in ("formulation", "particles", *(f"α={a}" for a in counted.inflations)):
            table.add_column(heading, justify="right", no_wrap=True)
        lines: dict[tuple[str, Any], list[str]] = {}
        for entry in entries:
            if entry["experiment"] == name:
                line = lines.setdefault((entry["formulation"], entry["particles"]), [])
                line.append(f"{entry['parameters']:,}")
        for (formulation, particles), numbers in lines.items():
            table.add_row(formulation, str(particles or ""), *numbers)
        show_table(table, console)
