"""Forecasts at their defaults against autoregression, exponential smoothing and seasonal naive.

    python -m benchmarks.series --json benchmarks/series.json
    python -m benchmarks.series --markdown benchmarks/series.json

The series come with the packages `statsmodels` and `vega_datasets`. The list was fixed before the first run.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd


class Series(NamedTuple):
    """A series, how far ahead to forecast it, and its season, which only the rivals are told."""

    load: Callable[[], Any]
    horizon: int
    season: int


def _statsmodels(name: str) -> Any:
    import statsmodels.api as sm

    return getattr(sm.datasets, name).load_pandas().data


def _vega(name: str) -> Any:
    from vega_datasets import local_data

    return getattr(local_data, name)()


def _quarterly(column: str) -> Any:
    table = _statsmodels("macrodata")
    return pd.Series(
        table[column].to_numpy(), pd.period_range("1959Q1", periods=len(table), freq="Q")
    )


def _sunspots() -> Any:
    table = _statsmodels("sunspots")
    return pd.Series(
        table["SUNACTIVITY"].to_numpy(), pd.period_range("1700", periods=len(table), freq="Y")
    )


def _co2() -> Any:
    return _statsmodels("co2")["co2"].resample("MS").mean().interpolate()


def _el_nino() -> Any:
    values = _statsmodels("elnino").iloc[:, 1:].to_numpy().ravel()
    return pd.Series(values, pd.date_range("1950-01-01", periods=len(values), freq="MS"))


def _nile() -> Any:
    table = _statsmodels("nile")
    return pd.Series(
        table["volume"].to_numpy(), pd.period_range("1871", periods=len(table), freq="Y")
    )


def _seattle() -> Any:
    return _vega("seattle_weather").set_index("date")["temp_max"].asfreq("D").interpolate()


def _employment() -> Any:
    return _vega("us_employment").set_index("month")["nonfarm"].astype(float).asfreq("MS")


def _hourly() -> Any:
    values = _vega("sf_temps")["temp"].to_numpy()[:1500]
    return pd.Series(values, pd.date_range("2010-01-01", periods=len(values), freq="h"))


SERIES: dict[str, Series] = {
    "sunspots, yearly": Series(_sunspots, 11, 11),
    "CO₂, monthly": Series(_co2, 12, 12),
    "unemployment, quarterly": Series(lambda: _quarterly("unemp"), 8, 4),
    "El Niño, monthly": Series(_el_nino, 12, 12),
    "Nile, yearly": Series(_nile, 5, 1),
    "real GDP, quarterly": Series(lambda: _quarterly("realgdp"), 8, 4),
    "inflation, quarterly": Series(lambda: _quarterly("infl"), 8, 4),
    "Seattle maxima, daily": Series(_seattle, 7, 365),
    "employment, monthly": Series(_employment, 12, 12),
    "San Francisco, hourly": Series(_hourly, 24, 24),
}

if __name__ == "__main__":
    for name, series in SERIES.items():
        values = series.load()
        print(name, len(values), np.isnan(values.to_numpy()).sum())
