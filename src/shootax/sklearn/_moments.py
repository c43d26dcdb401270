"""Times of series: numbers, dates and durations, in arrays and in the index of pandas objects."""

import datetime
import re
import warnings
from typing import Any

import numpy as np

DAY = np.timedelta64(1, "D")


def of(times: Any) -> np.ndarray:
    """Convert the times that a user gave to doubles: dates to days since the first, durations to days.

    **Arguments:** `times`: an array of numbers, dates or durations.
    """
    array = np.asarray(times)
    if array.dtype.kind == "O" and array.size and not isinstance(array.flat[0], str):
        array = _plain(array)
    if array.dtype.kind == "M":
        array = array.astype("M8[D]") if np.datetime_data(array.dtype)[0] in "YMW" else array
        array = array - array.min() if array.size else array.astype("m8[D]")
    if array.dtype.kind == "m":
        return array / DAY
    try:
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"times must be numbers, dates or durations, got an array of dtype {array.dtype}. Convert "
            "text with pd.to_datetime or pd.to_numeric."
        ) from None


def _plain(array: np.ndarray) -> np.ndarray:
    """Convert an array of Python dates or durations, with or without time zones, to durations."""
    first, passed = array.flat[0], array.copy()
    try:
        if isinstance(first, datetime.date):
            for place, entry in np.ndenumerate(array):
                passed[place] = entry - first
        if isinstance(passed.flat[0], datetime.timedelta):
            return passed.astype("m8[us]")
    except TypeError:
        raise ValueError(
            "times mixes kinds of entries, such as dates with and without a time zone, or has missing "
            "ones. Convert them with pd.to_datetime."
        ) from None
    return array


def since_first(index: Any) -> np.ndarray:
    """The times of an index of dates, durations (both in days) or numbers, from 0.

    **Arguments:** `index`: an index of pandas.
    """
    import pandas as pd

    start = index.to_timestamp() if isinstance(index, pd.PeriodIndex) else index
    passed = start - start[0]
    if isinstance(passed, pd.TimedeltaIndex):
        passed = passed / pd.Timedelta(days=1)
    return np.asarray(passed, np.float64)


def with_dates(X: Any) -> Any:
    """A series whose index of Python dates is an index of pandas' dates. Warn of text that looks like
    dates, which is not used.

    **Arguments:** `X`: a `Series` or `DataFrame`.
    """
    import pandas as pd

    index = X.index
    if isinstance(index, pd.MultiIndex) or not len(index):
        return X
    if index.dtype.kind == "O" and all(isinstance(entry, datetime.date) for entry in index):
        return X.set_axis(pd.to_datetime(index))
    if isinstance(index[0], str) and re.match(r"\d{1,4}[-/.]\d{1,2}([-/.]\d{1,4}|$)", index[0]):
        warnings.warn(
            f"The index of the series holds text, such as {index[0]!r}, which is not used. If these are "
            "dates, convert them: X.index = pd.to_datetime(X.index).",
            stacklevel=5,
        )
    return X


def regular_numbers(index: Any) -> tuple[Any, Any]:
    """The regular grid of numbers or durations that contains an index with few gaps, and the index with
    the numbers of the grid; or `None` and the index.

    **Arguments:** `index`: an increasing index of pandas.
    """
    import pandas as pd

    if len(index) == 1:
        return index, index
    passed = since_first(index)
    gaps = np.diff(passed)
    if not np.isfinite(gaps).all():
        raise ValueError("The numbers in the index of a series must be finite.")
    places = np.round(passed / gaps.min())
    step = passed[-1] / places[-1]
    if places[-1] >= 2 * len(index) or np.abs(passed - step * places).max() > 1e-6 * step:
        return None, index
    every = np.arange(int(places[-1]) + 1)
    if index.dtype.kind in "iu":
        first, last = int(index[0]), int(index[-1])
        grid: Any = pd.RangeIndex(first, last + 1, (last - first) // int(places[-1]))
    elif isinstance(index, pd.TimedeltaIndex):
        grid = pd.timedelta_range(index[0], index[-1], periods=len(every))
    else:
        grid = pd.Index(float(index[0]) + step * every)
    return grid, grid[places.astype(int)]


def later(index: Any, at: np.ndarray) -> Any:
    """The index after the end of an even one, `at` steps later.

    **Arguments:** `index`: an index of pandas with numbers or durations.
    """
    import pandas as pd

    if len(index) == 1:
        return (
            pd.Index(index[-1] + at) if index.dtype.kind != "m" else pd.RangeIndex(1, 1 + len(at))
        )
    # The mean step; a single one of floats is rounded.
    last, count = index[-1], len(index) - 1
    if isinstance(index, pd.TimedeltaIndex):
        return last + pd.TimedeltaIndex([(last - index[0]) / count * k for k in at])
    if index.dtype.kind in "iu":
        return pd.Index(int(last) + (int(last) - int(index[0])) // count * at)
    return pd.Index(last + (last - index[0]) / count * at)


def check_frequency(index: Any, expected: str | None) -> None:
    """Warn if the steps of an index of dates are not as long as those of a frequency.

    **Arguments:** `index`: an even `DatetimeIndex` or `PeriodIndex`; `expected`: the frequency in `fit`.
    """
    import pandas as pd

    if expected is None or len(index) < 2:
        return
    try:
        if isinstance(index, pd.PeriodIndex):
            grid: Any = pd.period_range(index[0], periods=len(index), freq=expected)
        else:
            grid = pd.date_range(index[0], periods=len(index), freq=expected)
    except (ValueError, OverflowError):  # the frequencies of periods and of dates have other names
        return
    found, wanted = (float(np.median(np.diff(since_first(part)))) for part in (index, grid))
    if not 0.8 < found / wanted < 1.25:
        warnings.warn(
            f"The dates of X are {found:g} days apart, but those in training had the frequency "
            f"{expected!r}, which is {wanted:g} days. The forecast counts steps, not time.",
            stacklevel=4,
        )
