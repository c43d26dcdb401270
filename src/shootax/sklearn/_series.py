"""Series as they come: one-dimensional arrays, and pandas objects whose index goes on in the forecast."""

import warnings
from typing import Any, NamedTuple

import numpy as np


class Form(NamedTuple):
    """How a user gave sequences, so that forecasts come back the same way.

    **Arguments:**

    - `kind`: `"sequences"`, `"array"`, `"Series"` or `"DataFrame"`.
    - `index`: of the pandas object.
    - `names`: the name of a `Series`, or the columns of a `DataFrame`.
    - `frequency`: of the index, as pandas spells it; `None` if it has none.
    """

    kind: str
    index: Any = None
    names: Any = None
    frequency: str | None = None

    def back(self, values: np.ndarray, at: np.ndarray, even: bool) -> Any:
        """Forecasts `(1, moments, features)` in the form of the past.

        **Arguments:** `at`, how long after the last entry: in steps if the index is `even`, else in days.
        """
        if self.kind == "sequences":
            return values
        values = values[0]
        if self.kind == "array":
            return values[:, 0]
        import pandas as pd

        index = _continued(self.index, self.frequency, at, even)
        if self.kind == "Series":
            return pd.Series(values[:, 0], index, name=self.names)
        return pd.DataFrame(values, index, columns=self.names)


def taken(
    X: Any, times: Any, mask: Any, frequency: str | None = None
) -> tuple[Any, Any, Any, Form]:
    """Values `(sequences, times, features)`, times and mask of what a user gave, and its form.

    **Arguments:** `X`, `times`, `mask`: as [`shootax.sklearn.ShootingForecaster`][] takes them;
    `frequency`: that of the series of the training, for an index that is too short to show it.
    """
    if type(X).__module__.split(".")[0] == "pandas":
        return _of_pandas(X, times, mask, frequency)
    values = np.asarray(X)
    if values.ndim != 1:
        return X, times, mask, Form("sequences")
    mask = None if mask is None else np.asarray(mask)[None]
    return values[None, :, None], times, mask, Form("array")


def _of_pandas(X: Any, times: Any, mask: Any, frequency: str | None) -> tuple[Any, Any, Any, Form]:
    import pandas as pd

    if isinstance(X, pd.Series):
        kind, names, values = (
            "Series",
            X.name,
            X.to_numpy(np.float64, na_value=np.nan)[None, :, None],
        )
    else:
        kind, names, values = "DataFrame", X.columns, X.to_numpy(np.float64, na_value=np.nan)[None]
    index = X.index
    if times is None and isinstance(index, pd.PeriodIndex):
        frequency = index.freqstr
        gaps = np.diff(index.asi8)
        times = None if (gaps == 1).all() else (index.asi8 - index.asi8[0]).astype(np.float64)
    elif times is None and isinstance(index, pd.DatetimeIndex):
        frequency = index.freqstr or _inferred(index) or (frequency if len(index) <= 3 else None)
        if frequency is None:
            times = np.asarray((index - index[0]) / pd.Timedelta(days=1), np.float64)
    else:
        frequency = None
    mask = None if mask is None else np.asarray(mask)[None]
    return values, times, mask, Form(kind, index, names, frequency)


def _inferred(index: Any) -> str | None:
    """The frequency that dates have though their index does not say so."""
    import pandas as pd

    if len(index) < 3 or not index.is_unique:
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions announce that they will return an object
        found: Any = pd.infer_freq(index)
    return getattr(found, "freqstr", found)


def _continued(index: Any, frequency: str | None, at: np.ndarray, even: bool) -> Any:
    """The index of forecasts."""
    import pandas as pd

    last, steps = index[-1], np.round(at).astype(int)
    whole = even and np.allclose(at, steps)
    if isinstance(index, pd.PeriodIndex):
        if not whole:
            raise ValueError(
                "`at` must be whole numbers of periods for a series with a PeriodIndex; use "
                "`X.to_timestamp()` for moments between them."
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
        return dates[steps] if len(steps) < len(dates) - 1 else dates[1:]
    if pd.api.types.is_integer_dtype(index) and whole:
        step = int(index[-1] - index[-2]) if len(index) > 1 else 1
        return pd.Index(last + step * steps)
    return pd.Index(np.arange(len(index), len(index) + len(at)))
