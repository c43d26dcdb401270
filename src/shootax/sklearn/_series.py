"""Convert series from users: arrays, and pandas objects whose index the forecast continues."""

import decimal
import numbers
import warnings
from typing import Any, NamedTuple

import numpy as np

from shootax import _checks as checks
from shootax.extend import as_numbers
from shootax.sklearn import _moments as moments


class Form(NamedTuple):
    """The form in which a user gave sequences, so that forecasts have the same form.

    **Arguments:**

    - `kind`: `"sequences"`, `"array"`, `"Series"` or `"DataFrame"`.
    - `index`: the index of the pandas object.
    - `names`: the name of a `Series`, or the columns of a `DataFrame`.
    - `frequency`: the frequency of the index, as in pandas; `None` if it has none.
    - `counted`: whether an index of numbers or durations gives the times.
    """

    kind: str
    index: Any = None
    names: Any = None
    frequency: str | None = None
    counted: bool = False

    def back(self, values: np.ndarray, at: np.ndarray, even: bool) -> Any:
        """Convert forecasts `(1, moments, features)` to the form of the past.

        **Arguments:** `at`, the times since the last entry, in steps if the index is `even`, otherwise in
        days, or in the unit of an index of numbers.
        """
        if self.kind == "sequences":
            return values
        values = values[0]
        if self.kind == "array":
            return values[:, 0]
        import pandas as pd

        index = _continued(self, at, even)
        if self.kind == "Series":
            return pd.Series(values[:, 0], index, name=self.names)
        return pd.DataFrame(values, index, columns=self.names)


def taken(
    X: Any, times: Any, mask: Any, frequency: str | None = None, *, uneven: bool = False
) -> tuple[Any, Any, Any, Form]:
    """Convert what a user gave to values `(sequences, times, features)`, times and mask, and its form.

    **Arguments:** `X`, `times`, `mask`: as in [`shootax.sklearn.ShootingForecaster`][]; `frequency`: the
    frequency of the training series, for an index that is too short to infer it; `uneven`: whether the
    training series was uneven, so that times do not count in steps.
    """
    times = None if times is None else moments.of(times)
    if type(X).__module__.split(".")[0] == "pandas":
        return _of_pandas(X, times, mask, frequency, uneven)
    values = _numbers(X)
    if values.ndim != 1:
        return values, times, mask, Form("sequences")
    mask = None if mask is None else np.asarray(mask)[None]
    return values[None, :, None], times, mask, Form("array")


def learn_columns(estimator: Any, X: Any) -> None:
    """Keep the names of the columns of a `DataFrame` as `feature_names_in_`, if all of them are text."""
    names = _columns(X)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def check_columns(X: Any, expected: Any) -> None:
    """Refuse a `DataFrame` whose columns differ from those in `fit`, or are in another order."""
    names = _columns(X)
    if names is None or expected is None or names == list(expected):
        return
    expected = list(expected)
    raise ValueError(
        f"X has the columns {names}, but the forecaster was fitted with {expected}. Give the same "
        f"columns in the same order, as in X[{expected}]."
    )


def _columns(X: Any) -> list[str] | None:
    names = list(getattr(X, "columns", []))
    return names if names and all(isinstance(name, str) for name in names) else None


def _numbers(X: Any) -> np.ndarray:
    """Convert an array or a pandas object of numbers to doubles; missing entries become NaN.

    Dates, durations and text raise an error, even if NumPy could convert them to numbers.
    """
    if type(X) is np.ndarray and X.dtype.kind == "f":
        return X.astype(np.float64)
    if isinstance(X, np.ma.MaskedArray):
        X = as_numbers(X)  # with NaN under the mask
    name, convert = type(X).__name__, getattr(X, "to_numpy", None)
    try:
        found = convert() if convert else np.asarray(X)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"A series must be an array of numbers; NumPy cannot convert this {name} to one ({error}). "
            "If sequences have different lengths, fill the shorter ones with NaN."
        ) from None
    if found.dtype.kind == "O":
        for place, entry in np.ndenumerate(found):
            if not (entry is None or _missing(entry) or _is_number(entry)):
                where = place[0] if len(place) == 1 else place
                raise ValueError(
                    f"A series must hold numbers, got {checks.shown(entry)} at {where}. Convert text "
                    "with pd.to_numeric, leave out other columns that are not numeric, and use NaN for "
                    "missing entries."
                )
        known = [np.nan if entry is None or _missing(entry) else entry for entry in found.flat]
        return np.array(known, np.float64).reshape(found.shape)
    if found.dtype.kind in "USMm":
        raise ValueError(
            f"A series must hold numbers, got an array of dtype {found.dtype}. Convert text with "
            "pd.to_numeric; dates belong in the index of a pandas Series, or in `times`."
        )
    checks.real_numbers(found, "A series")
    return found.astype(np.float64)


def _is_number(entry: Any) -> bool:
    return isinstance(entry, numbers.Real | decimal.Decimal | np.bool_)


def _missing(entry: Any) -> bool:
    """Whether an entry is a missing value of pandas."""
    return type(entry).__name__ in ("NAType", "NaTType")


def _of_pandas(
    X: Any, times: Any, mask: Any, frequency: str | None, uneven: bool
) -> tuple[Any, Any, Any, Form]:
    import pandas as pd

    X = moments.with_dates(X) if times is None else X
    dated = isinstance(X.index, (pd.DatetimeIndex, pd.PeriodIndex))
    counted = times is None and (
        isinstance(X.index, pd.TimedeltaIndex)
        or (pd.api.types.is_numeric_dtype(X.index) and X.index.dtype.kind in "fiu")
    )
    even = False
    if times is None and (dated or counted):
        X, mask, frequency, even = _without_gaps(X, mask, None if uneven else frequency, uneven)
    if isinstance(X, pd.Series):
        kind, names, values = "Series", X.name, _numbers(X)[None, :, None]
    else:
        kind, names, values = "DataFrame", X.columns, _numbers(X)[None]
    index = X.index
    if times is not None or not dated:
        frequency = None
    if times is None and (dated or counted) and not even and len(index) > 0:
        times = moments.since_first(index)
    mask = None if mask is None else np.asarray(mask)[None]
    return values, times, mask, Form(kind, index, names, frequency, counted)


def _without_gaps(
    X: Any, mask: Any, frequency: str | None, uneven: bool
) -> tuple[Any, Any, str | None, bool]:
    """Insert missing entries (NaN) at the dates or numbers that the index skips. Return the series, the
    mask, the frequency of dates, and whether the index is now even."""
    import pandas as pd

    index = X.index
    if len(index) == 0:
        return X, mask, frequency, True
    if not (index.is_monotonic_increasing and index.is_unique):
        raise ValueError(
            "The dates or numbers in the index of a series must increase, without duplicates. Sort them "
            "with X.sort_index(), and drop or average duplicates."
        )
    if uneven:
        return X, mask, None, False
    if isinstance(index, pd.PeriodIndex):
        frequency = index.freqstr
        grid: Any = pd.period_range(index[0], index[-1], freq=index.freq)
    elif isinstance(index, pd.DatetimeIndex):
        grid, frequency = _regular(index, frequency)
    else:
        grid, index = moments.regular_numbers(index)
    if grid is None:
        return X, mask, None, False
    if len(grid) == len(index):
        return X, mask, frequency, True
    X = X.set_axis(index)
    if mask is not None:
        there = pd.DataFrame(np.asarray(mask, bool).reshape(len(index), -1), index)
        mask = there.reindex(grid, fill_value=False).to_numpy()
    return X.reindex(grid), mask, frequency, True


def _regular(index: Any, frequency: str | None) -> tuple[Any, str | None]:
    """The regular grid of dates that contains an index with few gaps, and its frequency, or
    `(None, None)`.

    **Arguments:** `frequency`: a known frequency, for an index that is too short to infer it.
    """
    import pandas as pd

    found = index.freqstr or _inferred(index)
    if found is not None:
        return index, found
    pieces = [index[i : i + 6] for i in range(0, len(index) - 5, 3)]
    known = dict.fromkeys([_inferred(piece) for piece in pieces] + [frequency])
    for candidate in known:
        if candidate is None:
            continue
        grid = pd.date_range(index[0], index[-1], freq=candidate)
        if len(grid) <= 2 * len(index) and index.isin(grid).all():
            return grid, candidate
    return None, None


def _inferred(index: Any) -> str | None:
    """Infer the frequency of dates whose index does not give it."""
    import pandas as pd

    if len(index) < 3 or not index.is_unique:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions warn that they will return an object
        found: Any = pd.infer_freq(index)
    return getattr(found, "freqstr", found)


def _continued(form: Form, at: np.ndarray, even: bool) -> Any:
    """The index of forecasts."""
    import pandas as pd

    index, frequency = form.index, form.frequency
    last, steps = index[-1], np.round(at).astype(int)
    whole = even and np.allclose(at, steps)
    if isinstance(index, pd.PeriodIndex):
        if not whole:
            raise ValueError(
                "`at` must be whole numbers of periods for a series with a PeriodIndex. For moments "
                "between them, use `X.to_timestamp()`."
            )
        return pd.PeriodIndex([last + int(k) for k in steps], freq=index.freq)
    if isinstance(index, pd.DatetimeIndex):
        if frequency is None:
            return last + pd.to_timedelta(at, unit="D")
        if not whole:
            raise ValueError(
                f"`at` must be whole numbers of steps for a series of frequency {frequency!r}."
            )
        dates = pd.date_range(last, periods=int(steps.max()) + 1, freq=frequency)
        every = np.array_equal(steps, np.arange(1, len(dates)))
        return dates[1:] if every else dates[steps]  # a slice keeps its frequency
    if not form.counted:
        return pd.Index(np.arange(len(index), len(index) + len(at)))
    if not even:
        return last + (
            pd.to_timedelta(at, unit="D") if isinstance(index, pd.TimedeltaIndex) else pd.Index(at)
        )
    return moments.later(index, steps if whole else at)
