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
"""The parts of the benchmark; `race` is the comparison with the rivals."""


@dataclasses.dataclass(frozen=True)
class Settings:
    """The parts and cases to measure, the number of threads, whether a rough estimate is enough
    (`quick`), and whether to fit the cost model (`fitting`). To fit it, all shapes are measured;
    otherwise only the shapes to which it was not fitted."""

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
        """The seconds that one comparison may take."""
        return 1.0 if self.quick else 5.0

    @property
    def chosen(self) -> list[Case]:
        """The cases to measure."""
        return [CASES[name] for name in self.cases]


def names(text: str | None, default: Iterable[str]) -> tuple[str, ...]:
    """The names in a comma-separated list, or the default if there is no list."""
    if text is None or text == "all":
        return tuple(default)
    return tuple(name.strip() for name in text.split(",") if name.strip())


def record(part: str, case: str, rival: str, **values: Any) -> dict[str, Any]:
    """One record of the results. Every record has the same first entries, with `None` if they do not
    apply.

    `ratio` is `rival_ms / ours_ms`, which is above 1 if ours is faster.
    """
    first = {"part": part, "case": case, "rival": rival}
    times = {"ratio": None, "ours_ms": None, "rival_ms": None}
    return {**first, **times, **values}
