"""Text from outside, shown as it is: names of files, columns and classes are no markup."""

from rich.console import Console
from rich.markup import escape


def plain(text: object) -> str:
    """Text for a console of Rich, with its markup escaped and control characters spelled out."""
    visible = "".join(c if c.isprintable() or c == "\n" else _spelled(c) for c in str(text))
    # A backslash at the end would escape the bracket of what comes after it.
    return escape(visible) if not visible.endswith("\\") else escape(visible + " ")


def say(text: object, console: Console | None = None) -> None:
    """Prints text as it is, in lines of any length."""
    (console or Console()).print(plain(text), highlight=False, soft_wrap=True)


def _spelled(character: str) -> str:
    return character.encode("unicode_escape", "backslashreplace").decode("ascii")
