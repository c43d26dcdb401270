"""What a run of the benchmark measures, and how long it may take."""

import dataclasses
from collections.abc import Iterable
from typing import Any

from benchmarks.speed.cases import CASES, Case
from shootax import _checks as checks

PARTS = (
    *(
        "race",
        "fit",
        "seeds",
        "stream",
        "start",
        "cores",
        "memory",
        "scaling",
        "inference",
        "baked",
    ),
    *("convolution", "automatic", "forms"),
)
"""The parts of the benchmark; `race` is the one against the rivals."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The parts and cases to measure, the number of threads, whether a rough look is enough, and whether
    the cost model is to be fitted: then all shapes are measured, else those it was not fitted to."""

    threads: int = 1
    parts: tuple[str, ...] = PARTS
    cases: tuple[str, ...] = tuple(CASES)
    quick: bool = False
    fitting: bool = False

    def __post_init__(self):
        checks.positive_integer(self.threads, "threads")
        for part in self.parts:
            checks.one_of(part, PARTS, "part")
        for case in self.cases:
            checks.one_of(case, tuple(CASES), "case")

    @property
    def seconds(self) -> float:
        """How long one comparison may take."""
        return 1.0 if self.quick else 5.0

    @property
    def chosen(self) -> list[Case]:
        """The cases to measure."""
        return [CASES[name] for name in self.cases]


def names(text: str | None, default: Iterable[str]) -> tuple[str, ...]:
    """A comma-separated list, or the default if there is none."""
    if text is None or text == "all":
        return tuple(default)
    return tuple(name.strip() for name in text.split(",") if name.strip())


def record(part: str, case: str, rival: str, **values: Any) -> dict[str, Any]:
    """One record of the results. Every record has the same first entries, `None` where they do not apply.

    `ratio` is `rival_ms / ours_ms`: above 1 where we are ahead.
    """
    first = {"part": part, "case": case, "rival": rival}
    times = {"ratio": None, "ours_ms": None, "rival_ms": None}
    return {**first, **times, **values}
