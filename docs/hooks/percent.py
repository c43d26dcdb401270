"""Tutorials are Python files in the percent format: cells begin with `# %%` or `# %% [markdown]`."""

from typing import NamedTuple


class Cell(NamedTuple):
    """One cell: `"markdown"` or `"code"`, its text, and the line of the file it starts at."""

    kind: str
    text: str
    line: int


def cells(source: str) -> list[Cell]:
    """The cells of a file, without empty ones. What stands before the first marker is code."""
    found: list[Cell] = []
    kind, lines, start = "code", [], 1
    for number, line in enumerate([*source.splitlines(), "# %%"], start=1):
        if not line.startswith("# %%"):
            lines.append(line)
            continue
        text = "\n".join(lines)
        if kind == "markdown":
            text = "\n".join(_uncommented(each) for each in lines)
        if text.strip():
            blank = len(text) - len(text.lstrip("\n"))
            found.append(Cell(kind, text.strip("\n"), start + blank))
        kind, lines, start = ("markdown" if "[markdown]" in line else "code"), [], number + 1
    return found


def _uncommented(line: str) -> str:
    if line in ("#", ""):
        return ""
    if not line.startswith("# "):
        raise ValueError(f"A line of a markdown cell must begin with '# ', got {line!r}.")
    return line[2:]
