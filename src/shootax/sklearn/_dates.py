"""Encode dates as numbers: the calendar on circles, and time on a line."""

import datetime
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

Series: TypeAlias = Any

# Unambiguous formats. In the next list, only the numbers can tell the day from the month.
FORMATS = ("ISO8601", "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%d.%m.%Y",
           "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S")  # fmt: skip
PAIRS = (("%d/%m/%Y", "%m/%d/%Y"), ("%d-%m-%Y", "%m-%d-%Y"),
         ("%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"), ("%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"))  # fmt: skip

DAY, YEAR = 86400.0, 365.2425 * 86400.0


class Calendar(NamedTuple):
    """The format of a column of dates, those of `CIRCLES` on which its dates differ, and their mean."""

    format: str | None
    circles: list[str]
    mean: float

    @property
    def width(self) -> int:
        """The number of numbers that encode a date."""
        return 2 + 2 * len(self.circles)


def _year_share(times: Any) -> Any:
    return (times.day_of_year - 1) / np.where(times.is_leap_year, 366, 365)


def _day_share(times: Any) -> Any:
    return (times.hour * 3600 + times.minute * 60 + times.second) / DAY


CIRCLES: dict[str, Callable[[Any], Any]] = {
    "month": lambda times: (times.month - 1) / 12,
    "day of year": _year_share,
    "weekday": lambda times: times.day_of_week / 7,
    "hour": _day_share,
}
"""Periodic features: functions from moments to the elapsed fraction of each period."""


def learn(values: Series) -> Calendar | None:
    """Learn the calendar of a column, or return `None` if it holds no dates.

    A text column holds dates if all its entries are dates in the same format. If only most of them
    are, the others raise an error.
    """
    form = None
    if not _has_dates(values):
        if not is_text(values):
            return None
        form = _format(values)
        if form is None:
            return None
    times = moments(values, form)
    present = times[~times.isna()]
    circles = [name for name, share in CIRCLES.items() if len(set(share(present))) > 1]
    return Calendar(form, circles, float(np.mean(_seconds(present))))


def encode(values: Series, calendar: Calendar) -> np.ndarray:
    """Encode dates as years since the mean, the calendar year, and a point on each circle.

    A missing date becomes the mean, its year, and the middle of each circle.
    """
    times = moments(values, calendar.format)
    lost = np.asarray(times.isna())
    middle = pd.Timestamp(calendar.mean, unit="s").year
    # Relative to the mean, so that the precision of seconds is not lost beside decades.
    line = np.where(lost, 0.0, (_seconds(times) - calendar.mean) / YEAR)
    parts = [line, np.where(lost, middle, times.year)]
    for name in calendar.circles:
        angle = 2 * np.pi * np.asarray(CIRCLES[name](times), np.float64)
        parts += [np.where(lost, 0.0, np.sin(angle)), np.where(lost, 0.0, np.cos(angle))]
    return np.stack(parts, axis=1)


def moments(values: Series, form: str | None) -> pd.DatetimeIndex:
    """Convert entries to moments in UTC. Dates from a Parquet file and ISO text are always accepted."""
    if _has_dates(values):
        read = pd.to_datetime(values, utc=True, errors="coerce")
    else:
        read = _read(values, form or "ISO8601")
        if form not in (None, "ISO8601"):
            read = read.fillna(_read(values, "ISO8601"))
    wrong = (read.isna() & values.notna()).to_numpy()
    if wrong.any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(
            f"Column {values.name!r} should hold dates, but row {row + 1} has "
            f"{str(values.iloc[row])!r}. Write dates as in training{_described(form)}, or leave it empty "
            "if it is unknown"
        )
    return pd.DatetimeIndex(read).tz_localize(None)


def _described(form: str | None) -> str:
    return " or as 2024-12-31" if form in (None, "ISO8601") else f" ({form}) or as 2024-12-31"


def _format(values: Series) -> str | None:
    present = values.dropna()
    some = present.iloc[:1000]
    for form in FORMATS:
        if _read(some, form).notna().mean() > 0.5:
            return form
    for pair in PAIRS:
        shares = [_read(present, form).notna().mean() for form in pair]
        if max(shares) > 0.5:
            if shares[0] == shares[1]:
                raise ValueError(
                    f"Column {values.name!r} holds dates such as {present.iloc[0]!r}, in which day "
                    "and month cannot be told apart. Write dates in the form 2024-12-31"
                )
            return pair[int(np.argmax(shares))]
    return None


def _read(values: Series, form: str) -> Series:
    return pd.to_datetime(values.astype("str"), format=form, utc=True, errors="coerce")


def is_text(values: Series) -> bool:
    """Whether entries are text, and not mostly numbers in quotes: 20240131 is a number."""
    if pd.api.types.is_numeric_dtype(values) or isinstance(values.dtype, pd.CategoricalDtype):
        return False
    some = values.dropna().iloc[:1000]
    if not some.map(lambda entry: isinstance(entry, str)).all():
        return False
    numbers: Series = pd.to_numeric(some, errors="coerce")
    return bool(numbers.isna().mean() > 0.5)


def _has_dates(values: Series) -> bool:
    """Whether entries are dates already, as in a Parquet file."""
    if pd.api.types.is_datetime64_any_dtype(values):
        return True
    if values.dtype != object:
        return False
    present = values.dropna()
    return len(present) > 0 and present.map(lambda entry: isinstance(entry, datetime.date)).all()


def _seconds(times: pd.DatetimeIndex) -> np.ndarray:
    since = times - pd.Timestamp(0).as_unit(times.unit)  # in nanoseconds, years end in 2262
    return np.asarray(since / pd.Timedelta(1, unit="s"), np.float64)
