"""A record of all trials and their outcomes, one line of JSON for each, and a table of all."""

import collections
import json
import pathlib
import sys
import traceback
from collections.abc import Iterable
from typing import Any

SURVIVED, LOST, SILENT, UNCLEAR = "survived", "lost", "silent", "unclear"
BAD = (LOST, SILENT, UNCLEAR)
OUTCOMES = (SURVIVED, *BAD)
UNPROTECTED = "unprotected"
"""A change that no reader can notice, because the file has no checksum. It is reported below the
table."""

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "shootax"


class Ledger:
    """Writes each outcome to a stream at once, so that no outcome is lost if the process crashes."""

    def __init__(self, part: str, stream: Any = None):
        self.part, self.stream = part, stream or sys.stdout
        self.entries: list[dict[str, Any]] = []

    def note(self, case: str, outcome: str, detail: str = "") -> None:
        """Count one trial of a case."""
        self._say({"part": self.part, "case": case, "outcome": outcome, "detail": detail[:2000]})

    def judge(self, case: str, wrong: Iterable[tuple[str, str]], detail: str = "") -> None:
        """Count one trial. It survived unless there is something `wrong`: pairs of outcome and detail."""
        found = list(wrong)
        if found:
            self.note(case, found[0][0], "; ".join(text for _, text in found))
        else:
            self.note(case, SURVIVED, detail)

    def measure(self, **values: Any) -> None:
        """Record numbers that are not outcomes."""
        self._say({"part": self.part, "measured": values})

    def begin(self, case: str, detail: str = "") -> None:
        """Record what is tried next; if the process dies, this was the cause."""
        print(
            json.dumps({"part": self.part, "case": case, "begin": detail}),
            file=self.stream, flush=True,
        )  # fmt: skip

    def _say(self, entry: dict[str, Any]) -> None:
        self.entries.append(entry)
        print(json.dumps(entry), file=self.stream, flush=True)


def is_own(error: BaseException) -> bool:
    """Whether the library raised an exception deliberately, with its own message."""
    if isinstance(error, RecursionError | MemoryError | AssertionError | KeyboardInterrupt):
        return False
    if type(error).__name__ in ("FileFormatError", "ProgramError"):
        return True
    frames = traceback.extract_tb(error.__traceback__)
    inside = bool(frames) and pathlib.Path(frames[-1].filename).is_relative_to(SOURCE)
    return inside and isinstance(error, ValueError | TypeError | RuntimeError | OSError)


def described(error: BaseException) -> str:
    """An exception and its place of origin, in one line."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f"{pathlib.Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}: {str(error)[:300]}"


def rows(entries: Iterable[dict[str, Any]]) -> list[tuple[str, str, collections.Counter]]:
    """The counts of each part and case, in their order of appearance."""
    counts: dict[tuple[str, str], collections.Counter] = {}
    for entry in entries:
        if "outcome" in entry:
            key = (entry["part"], entry["case"])
            counts.setdefault(key, collections.Counter())[entry["outcome"]] += 1
    return [(part, case, count) for (part, case), count in counts.items()]


def table(entries: list[dict[str, Any]]) -> str:
    """The table of all outcomes, in Markdown."""
    lines = [
        f"| part | case | tried | {' | '.join(OUTCOMES)} |",
        "|---|---|" + "--:|" * (1 + len(OUTCOMES)),
    ]
    total: collections.Counter = collections.Counter()
    counted = rows(entries)
    for part, case, count in counted:
        lines.append(_line(part, case, count))
        total += count
    lines.append(_line("**all**", "", total))
    for part, case, count in counted:
        if count[UNPROTECTED]:
            lines.append(
                f"\n{part}, {case}: {count[UNPROTECTED]} more files were read with a change that this "
                "kind of file, which has no checksum, cannot show."
            )
    return "\n".join(lines)


def _line(part: str, case: str, count: collections.Counter) -> str:
    numbers = [sum(count[outcome] for outcome in OUTCOMES), *(count[o] for o in OUTCOMES)]
    return f"| {part} | {case} | " + " | ".join(f"{number:,}" for number in numbers) + " |"


def failures(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """All entries with a bad outcome."""
    return [entry for entry in entries if entry.get("outcome") in BAD]
