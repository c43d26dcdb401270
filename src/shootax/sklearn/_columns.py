"""Encode the columns of a table (numbers, categories and dates, with missing entries) as numbers."""

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from shootax.sklearn import _dates as dates

MOST_LEVELS, MOST_LEVELS_KEPT = 50, 1000

# The type annotations of pandas are too narrow here.
Frame: TypeAlias = Any
Series: TypeAlias = Any


class Column(NamedTuple):
    """How to encode a column of a table, learned from the table that a model was fitted to.

    **Arguments:**

    - `name`: the name of the column.
    - `levels`: the categories; `None` for a column of numbers or dates.
    - `mean`: the number that replaces missing numbers.
    - `missing`: whether entries can be missing. The column then has one more number, which marks them.
    - `offset`: a number to subtract first from integers that are too large for a float, so that their
        differences are not lost.
    - `calendar`: how to encode dates as numbers.
    """

    name: str
    levels: list[str] | None
    mean: float | None
    missing: bool
    offset: int = 0
    calendar: dates.Calendar | None = None

    @property
    def kind(self) -> str:
        """`"date"`, `"number"` or `"category"`."""
        if self.calendar is not None:
            return "date"
        return "number" if self.levels is None else "category"

    @property
    def width(self) -> int:
        """The number of numbers that encode an entry."""
        if self.calendar is not None:
            return self.calendar.width + self.missing
        return (1 if self.levels is None else len(self.levels)) + self.missing


class Problems:
    """Collect problems of columns, to report all of them in one error."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def __enter__(self) -> "Problems":
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, _: Any) -> bool:
        """Record a `ValueError` and suppress it; let other errors pass."""
        if kind is None or not issubclass(kind, ValueError):
            return False
        self.found.append(str(error).rstrip("."))
        return True

    def tell(self) -> None:
        """Raise a `ValueError` if there are problems."""
        if self.found:
            raise ValueError("; ".join(self.found) + ".")


def learn(frame: Frame, categorical: Sequence[str] = (), keep: Sequence[str] = ()) -> list[Column]:
    """Learn how to encode the columns of a table. Text and booleans are categorical. One error reports
    all problems of all columns.

    **Arguments:**

    - `frame`: the inputs.
    - `categorical`: names of further columns to encode as categories.
    - `keep`: names of columns that may have more categories than usual.

    !!! example

        ```python
        import pandas as pd
        from shootax.sklearn import tables

        frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", "red"]})
        columns = tables.learn(frame)
        x, warnings = tables.encode(frame, columns)
        print(x.shape)  # (3, 4)
        ```
    """
    columns, problems = [], Problems()
    for name in frame.columns:
        with problems:
            most = MOST_LEVELS_KEPT if name in keep else MOST_LEVELS
            columns.append(_learned(frame[name], name in categorical, most))
    problems.tell()
    return columns


def _learned(values: Series, categorical: bool, most: int) -> Column:
    name, missing = str(values.name), bool(values.isna().any())
    if values.isna().all():
        raise ValueError(f"Column {name!r} is empty. Leave it out with --ignore {name}")
    if not categorical:
        calendar = dates.learn(values)
        if calendar is not None:
            return Column(name, None, None, missing, calendar=calendar)
    if categorical or is_categorical(values):
        return Column(name, _levels(values, most), None, missing)
    offset = _offset(values)
    numbers = numbers_of(values, offset)
    # Divide before the sum, because a sum of very large floats may overflow.
    mean = float(np.nansum(numbers / np.sum(~np.isnan(numbers))))
    return Column(name, None, mean, missing, offset)


def encode(frame: Frame, columns: Sequence[Column]) -> tuple[np.ndarray, list[str]]:
    """Encode a table as numbers, and return them with warnings about entries unknown to the model.

    **Arguments:**

    - `frame`: the table. Its columns may be in any order; additional columns are ignored.
    - `columns`: the columns from [`shootax.sklearn.tables.learn`][].
    """
    parts: list[np.ndarray] = []
    notes: list[str] = []
    problems = Problems()
    absent = [column.name for column in columns if column.name not in frame.columns]
    if absent:
        there = ", ".join(map(repr, frame.columns)) or "none"
        problems.found.append(
            f"The table lacks the columns {', '.join(map(repr, absent))} that the model was fitted "
            f"with; its columns are: {there}"
        )
    for column in columns:
        if column.name in frame.columns:
            with problems:
                parts += _encoded(frame[column.name], column, notes)
    problems.tell()
    return np.concatenate([part.astype(np.float64) for part in parts], axis=1), notes


def _encoded(values: Series, column: Column, notes: list[str]) -> list[np.ndarray]:
    lost = values.isna().to_numpy()
    if lost.any() and not column.missing:
        row = int(np.flatnonzero(lost)[0])
        notes.append(
            f"column {column.name!r} has missing entries (the first in row {row + 1}), but had none "
            "in training; they are treated as "
            f"{'no known category' if column.kind == 'category' else 'average'}"
        )
    flag = [lost[:, None]] if column.missing else []
    if column.calendar is not None:
        return [dates.encode(values, column.calendar), *flag]
    if column.levels is None:
        numbers = numbers_of(values, column.offset)
        return [np.where(lost, column.mean or 0.0, numbers)[:, None], *flag]
    text = _text(values)
    unknown = ~text.isin(column.levels).to_numpy() & ~lost
    if unknown.any():
        row = int(np.flatnonzero(unknown)[0])
        notes.append(
            f"column {column.name!r} has entries that did not occur in training, such as "
            f"{text.iloc[row]!r} in row {row + 1}; they are treated as no known category"
        )
    # A missing entry of pandas' own kinds of text equals nothing, and is not different either.
    marks = [(text == level).to_numpy(bool, na_value=False) for level in column.levels]
    return [np.stack(marks, axis=1), *flag]


def to_json(columns: Sequence[Column]) -> list[dict[str, Any]]:
    """Convert columns to JSON-serialisable values.

    **Arguments:** `columns`: the columns from [`shootax.sklearn.tables.learn`][].
    """
    return [
        {**column._asdict(), "calendar": column.calendar and column.calendar._asdict()}
        for column in columns
    ]


def from_json(tree: list[dict[str, Any]]) -> list[Column]:
    """The inverse of `to_json`. Files of older versions lack the fields with defaults.

    **Arguments:** `tree`: the result of `to_json`.
    """
    columns = [Column(**column) for column in tree]
    return [
        column._replace(calendar=column.calendar and dates.Calendar(**column.calendar))  # pyright: ignore
        for column in columns
    ]


def is_categorical(values: Series) -> bool:
    """Whether a column holds text or booleans. Text that is mostly numbers is an error.

    **Arguments:** `values`: the column.
    """
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


def numbers_of(values: Series, offset: int = 0) -> np.ndarray:
    """Convert the entries of a column to floats; missing ones become NaN.

    **Arguments:** `values`: the column; `offset`: an integer to subtract.
    """
    if pd.api.types.is_timedelta64_dtype(values):
        values = values.dt.total_seconds()
    if not pd.api.types.is_numeric_dtype(values):
        numbers = _converted(values)
        wrong = (numbers.isna() & values.notna()).to_numpy()
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueError(
                f"Column {values.name!r} should hold numbers, but row {row + 1} has "
                f"{values.iloc[row]!r}. Correct it, or leave it empty if it is unknown. If the column "
                f"holds categories, fit with --categorical {values.name}."
            )
        values = numbers
    if offset and pd.api.types.is_integer_dtype(values):
        # With Python integers, because a difference may be too large for 64 bits.
        array = np.array([np.nan if pd.isna(v) else float(int(v) - offset) for v in values])
    else:
        array = values.to_numpy(np.float64, na_value=np.nan) - offset
    if np.isinf(array).any():
        row = int(np.flatnonzero(np.isinf(array))[0])
        raise ValueError(f"Column {values.name!r} has infinity in row {row + 1}. Correct it.")
    return array


def _offset(values: Series) -> int:
    """The number to subtract from integers, some of which a float cannot represent exactly."""
    if not pd.api.types.is_integer_dtype(values):
        return 0
    least, most = int(values.min()), int(values.max())
    return least if max(abs(least), abs(most)) > 2**53 else 0


def _levels(values: Series, most: int) -> list[str]:
    levels = sorted(set(_text(values.dropna())))
    if len(levels) > most:
        raise ValueError(
            f"Column {values.name!r} has {len(levels)} different entries, such as {levels[0]!r}, but a "
            f"column can have at most {most} categories. Leave it out with --ignore {values.name}"
        )
    return levels


def _text(values: Series) -> Series:
    """Entries as text; whole numbers have no decimal point, even if they were read as floats."""

    def one(entry: Any) -> Any:
        if isinstance(entry, float | np.floating) and float(entry).is_integer():
            return str(int(entry))
        return str(entry)

    return values.map(one, na_action="ignore")


def _converted(values: Series) -> Series:
    """Entries as numbers; an entry that is not a number becomes missing."""
    return pd.to_numeric(values, errors="coerce")
