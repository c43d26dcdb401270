"""Damaged files: each must be refused with an error of the library, or read as it was written."""

import pathlib
import random
import sys
import time

from tools.torture.kinds import Kind, all_kinds
from tools.torture.ledger import (
    SILENT,
    SURVIVED,
    UNCLEAR,
    UNPROTECTED,
    Ledger,
    described,
    is_own,
)
from tools.torture.mutations import damaged

FILES = 6000
SLOW = 20.0
"""Seconds after which reading a small file counts as a successful attack."""


def run(seed: int, scale: float, folder: pathlib.Path, ledger: Ledger, only: str = "") -> None:
    """Read damaged files of all kinds, many in each process."""
    kinds = all_kinds(folder, only)
    whole = sum(kind.share for kind in kinds)
    for kind in kinds:
        rng = random.Random(f"{seed} {kind.path.name}")
        for _ in range(max(1, round(FILES * scale * kind.share / whole))):
            by_hand = kind.edit is not None and rng.random() < 0.35
            data = kind.edit(kind.data, rng) if kind.edit and by_hand else damaged(kind.data, rng)
            try_file(kind, data, by_hand, ledger)
        kind.path.write_bytes(kind.data)


def try_file(kind: Kind, data: bytes, by_hand: bool, ledger: Ledger) -> None:
    """Read one damaged file, and count the outcome."""
    kind.path.write_bytes(data)
    keep = kind.path.with_name(kind.path.name + ".last")
    keep.write_bytes(data)  # in case the process dies while reading it
    ledger.begin(kind.name, str(keep))
    case = f"{kind.name}, edited" if by_hand else kind.name
    began = time.monotonic()
    try:
        value = kind.read(kind.path)
    except Exception as error:
        clear = is_own(error)
        ledger.note(case, SURVIVED if clear else UNCLEAR, "" if clear else _told(error, data))
        return
    finally:
        if (taken := time.monotonic() - began) > SLOW:
            ledger.note(case, UNCLEAR, f"reading took {taken:.0f} s: {data[:200]!r}")
    if by_hand or value == kind.value:
        ledger.note(case, SURVIVED)
    elif kind.protected:
        ledger.note(case, SILENT, f"other numbers were read, of {data[:300]!r}")
    else:
        ledger.note(case, UNPROTECTED)


def _told(error: BaseException, data: bytes) -> str:
    return f"{described(error)} | {data[:300]!r}"


if __name__ == "__main__":
    run(
        int(sys.argv[1]), float(sys.argv[2]), pathlib.Path(sys.argv[3]), Ledger("fuzz"),
        *sys.argv[4:5],
    )  # fmt: skip
