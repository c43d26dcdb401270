"""Print text without interpreting it as markup, and tables without truncation.

Names of files, columns and classes may contain characters that Rich would treat as markup.
"""

from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text


def plain(text: object) -> str:
    """Text for a Rich console, with markup and control characters escaped."""
    visible = "".join(c if c.isprintable() or c == "\n" else _spelled(c) for c in str(text))
    # A backslash at the end would escape the bracket of the markup that follows.
    return escape(visible) if not visible.endswith("\\") else escape(visible + " ")


def say(text: object, console: Console | None = None) -> None:
    """Print text without markup and without wrapping."""
    (console or Console()).print(plain(text), highlight=False, soft_wrap=True)


def show_table(table: Table, console: Console | None = None) -> None:
    """Print a table, or, if the terminal is too narrow for it, a list of its entries."""
    console = console or Console()
    # Each entry has a space on either side. There are lines between entries, and maybe at the edges.
    between = 3 * len(table.columns) - 1 + 2 * table.show_edge
    room = console.width - between - sum(map(_least, table.columns))
    if room >= 0:
        # Rich would cut words in some columns although others have room.
        for column in table.columns:
            wanted, least = _widest(column), _least(column)
            column.width = least + min(room, wanted - least)
            column.overflow = "fold"
            room -= column.width - least
        console.print(table)
        return
    if table.title:
        console.print(table.title, soft_wrap=True)
    for row in zip(*(column.cells for column in table.columns), strict=True):
        if not table.show_header:
            console.print(": ".join(map(str, row)), soft_wrap=True)
            continue
        entries = zip(table.columns, row, strict=True)
        lines = [f"{column.header}: {cell}" for column, cell in entries if cell]
        console.print("\n".join(lines) + "\n", soft_wrap=True)


def _texts(column: Column) -> list[str]:
    return [Text.from_markup(str(cell)).plain for cell in (column.header, *column.cells)]


def _widest(column: Column) -> int:
    """The width of the longest entry."""
    return max(map(cell_len, _texts(column)))


def _least(column: Column) -> int:
    """The width of the longest word or, in a column that is not wrapped, of the longest entry."""
    if column.no_wrap:
        return _widest(column)
    words = [word for text in _texts(column) for word in text.split()]
    # A single very long word, such as a checksum, may be folded.
    return min(max(map(cell_len, words), default=1), 30)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
