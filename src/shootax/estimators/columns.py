"""Columns of a table as numbers: numeric and categorical ones, with entries that are missing."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

MOST_LEVELS = 50

# The types that pandas itself declares say less than they ask for.
Frame: TypeAlias = Any
Series: TypeAlias = Any


class Column(NamedTuple):
    """One column of a table, as it was when a model was fitted.

    A numeric column has no `levels`; its missing entries become `mean`. A column whose entries can
    be missing has one more number, which says so.
    """

    name: str
    levels: list[str] | None
    mean: float | None
    missing: bool

    @property
    def width(self) -> int:
        """How many numbers it becomes."""
        return (1 if self.levels is None else len(self.levels)) + self.missing


def learn(frame: Frame, categorical: Sequence[str] = ()) -> list[Column]:
    """What the columns of a table are. Text, truth values and those named are categorical."""
    columns = []
    for name in frame.columns:
        values = frame[name]
        missing = bool(values.isna().any())
        if values.isna().all():
            raise ValueError(f"Column {name!r} is empty. Leave it out: --ignore {name}")
        if name in categorical or is_categorical(values):
            columns.append(Column(str(name), _levels(values), None, missing))
        else:
            numbers = numbers_of(values)
            columns.append(Column(str(name), None, float(np.nanmean(numbers)), missing))
    return columns


def encode(frame: Frame, columns: Sequence[Column]) -> tuple[np.ndarray, list[str]]:
    """The table as numbers, and warnings about what it has that the model does not know.

    The columns may come in any order, and others beside them are not looked at.
    """
    absent = [column.name for column in columns if column.name not in frame.columns]
    if absent:
        there = ", ".join(map(repr, frame.columns)) or "none"
        raise ValueError(
            f"The table lacks the columns {', '.join(map(repr, absent))} that the model was fitted "
            f"with; it has: {there}."
        )
    parts, notes = [], []
    for column in columns:
        values = frame[column.name]
        lost = values.isna().to_numpy()
        if lost.any() and not column.missing:
            row = int(np.flatnonzero(lost)[0])
            notes.append(
                f"column {column.name!r} has missing entries (the first in row {row + 1}), which it "
                "never had in training; they count as "
                f"{'average' if column.levels is None else 'no known level'}"
            )
        if column.levels is None:
            numbers = numbers_of(values)
            parts.append(np.where(lost, column.mean or 0.0, numbers)[:, None])
        else:
            text = _text(values)
            unknown = ~text.isin(column.levels).to_numpy() & ~lost
            if unknown.any():
                row = int(np.flatnonzero(unknown)[0])
                notes.append(
                    f"column {column.name!r} has entries that training never saw, such as "
                    f"{text.iloc[row]!r} in row {row + 1}; they count as no known level"
                )
            parts.append(np.stack([(text == level).to_numpy() for level in column.levels], axis=1))
        if column.missing:
            parts.append(lost[:, None])
    return np.concatenate([part.astype(np.float64) for part in parts], axis=1), notes


def to_json(columns: Sequence[Column]) -> list[dict[str, Any]]:
    return [column._asdict() for column in columns]


def from_json(tree: list[dict[str, Any]]) -> list[Column]:
    return [Column(**column) for column in tree]


def is_categorical(values: Series) -> bool:
    """Whether it holds text or truth values. Text that is mostly numbers is a mistake."""
    if pd.api.types.is_bool_dtype(values) or isinstance(values.dtype, pd.CategoricalDtype):
        return True
    if pd.api.types.is_numeric_dtype(values):
        return False
    present = values.dropna()
    if present.map(lambda entry: isinstance(entry, bool | np.bool_)).all():
        return True
    share = _converted(present).notna().mean()
    if share < 0.5:
        return True
    numbers_of(values)  # raises at the first entry that is not a number
    return False


def numbers_of(values: Series) -> np.ndarray:
    if not pd.api.types.is_numeric_dtype(values):
        numbers = _converted(values)
        wrong = (numbers.isna() & values.notna()).to_numpy()
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"Column {values.name!r} should hold numbers, but row {row + 1} has "
                f"{values.iloc[row]!r}. Correct it, or leave it empty if it is not known; when "
                f"fitting, --categorical {values.name} makes the column one of categories."
            )
        values = numbers
    array = values.to_numpy(np.float64, na_value=np.nan)
    if np.isinf(array).any():
        row = int(np.flatnonzero(np.isinf(array))[0])
        raise ValueError(f"Column {values.name!r} has infinity in row {row + 1}. Correct it.")
    return array


def _levels(values: Series) -> list[str]:
    levels = sorted(set(_text(values.dropna())))
    if len(levels) > MOST_LEVELS:
        raise ValueError(
            f"Column {values.name!r} has {len(levels)} different entries, such as {levels[0]!r}; at "
            f"most {MOST_LEVELS} make sense as categories. Leave it out: --ignore {values.name}"
        )
    return levels


def _text(values: Series) -> Series:
    """Entries as text; a whole number is written without a point, however the file was read."""

    def one(entry: Any) -> Any:
        if isinstance(entry, float | np.floating) and float(entry).is_integer():
            return str(int(entry))
        return str(entry)

    return values.map(one, na_action="ignore")


def _converted(values: Series) -> Series:
    """As numbers, missing where an entry is none."""
    return pd.to_numeric(values, errors="coerce")
