"""Find columns that are useless, or look so, before a model is fitted."""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from shootax.sklearn import _dates as dates

Frame: TypeAlias = Any
Series: TypeAlias = Any

FEWEST_IDENTIFIERS = 10
"""In fewer rows, the entries of a text column may all be different by chance."""


class Screened(NamedTuple):
    """The names of the columns to use, and notes about the decisions."""

    used: list[str]
    notes: list[str]


def screen(frame: Frame, keep: Sequence[str] = (), categorical: Sequence[str] = ()) -> Screened:
    """Leave out unnamed row numbers, text that is different in every row, and constant columns.

    A named column of integers that count up may hold row numbers or years, so it is kept, with a note.

    **Arguments:**

    - `frame`: the inputs.
    - `keep`: columns to use in any case.
    - `categorical`: columns to encode as categories, which are also used in any case.
    """
    used, notes = [], []
    for place, name in enumerate(frame.columns):
        values = frame[name]
        wanted = name in keep or name in categorical
        reason = None if wanted else _useless(values, place)
        if reason is not None:
            notes.append(f"{name!r} is left out: {reason} (use it with --keep {_quoted(name)})")
            continue
        used.append(name)
        if not wanted and _counts_up(values):
            notes.append(
                f"{name!r} counts up by one from row to row and is used as a number (if it is a row "
                f"number, leave it out with --ignore {_quoted(name)})"
            )
    return Screened(used, notes)


def _useless(values: Series, place: int) -> str | None:
    if len(values) < 2 or values.isna().all():
        return None
    try:
        different = values.nunique()
    except TypeError:  # lists and other entries that cannot be compared
        return None
    if different == 1 and not values.isna().any():
        return "it has the same entry in every row"
    if place == 0 and _is_unnamed(values.name) and _are_row_numbers(values):
        return "it holds row numbers and has no name"
    all_different = different == int(values.notna().sum()) >= FEWEST_IDENTIFIERS
    if all_different and dates.is_text(values) and not _has_dates(values):
        return "its text is different in every row"
    return None


def _has_dates(values: Series) -> bool:
    try:
        return dates.learn(values) is not None
    except ValueError:  # dates with a mistake in them, which is reported later
        return True


def _is_unnamed(name: Any) -> bool:
    return re.fullmatch(r"(Unnamed: \d+|__index_level_\d+__)?", str(name).strip()) is not None


def _are_row_numbers(values: Series) -> bool:
    """Whether entries are distinct integers, in any order: rows may have been shuffled or sampled."""
    return pd.api.types.is_integer_dtype(values) and values.is_unique and bool((values >= 0).all())


def _counts_up(values: Series) -> bool:
    whole = pd.api.types.is_integer_dtype(values) and not values.isna().any()
    if not whole or len(values) < FEWEST_IDENTIFIERS:
        return False
    return bool((np.diff(values.to_numpy()) == 1).all())


def _quoted(name: Any) -> str:
    return f"'{name}'" if re.search(r"[^\w.-]", str(name)) else str(name)
