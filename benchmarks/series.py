"""Compare default forecasts with autoregression, exponential smoothing and seasonal naive forecasts.

    python -m benchmarks.series --json benchmarks/series.json
    python -m benchmarks.series --markdown benchmarks/series.json

The series come with packages (`pip install statsmodels vega_datasets`) and were chosen before the first
run. The last 30 % of each series are forecast from every origin, at most 60 origins in a block. Every
model is fitted three times, at the starts of three blocks, to all earlier values.
"""

import argparse
import json
import pathlib
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import shootax as sx
from shootax.sklearn import ShootingForecaster

BLOCKS, TESTED, MOST_ORIGINS, COVERAGE = 3, 0.3, 60, 0.9


class Series(NamedTuple):
    """A series, how far ahead to forecast it, and its season, which is passed to the rivals only."""

    load: Callable[[], Any]
    horizon: int
    season: int


def _statsmodels(name: str) -> Any:
    import statsmodels.api as sm  # pyright: ignore[reportMissingImports]

    return getattr(sm.datasets, name).load_pandas().data


def _vega(name: str) -> Any:
    from vega_datasets import local_data  # pyright: ignore[reportMissingImports]

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
    values = _vega("us_employment")["nonfarm"].to_numpy(float)
    return pd.Series(values, pd.date_range("2006-01-01", periods=len(values), freq="MS"))


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


class Forecasts(NamedTuple):
    """Forecasts `(origins, horizon)`, half-widths of intervals if there are any, and number of
    parameters."""

    values: np.ndarray
    half: np.ndarray | None
    parameters: int


def _pasts(values: Any, origins: np.ndarray, length: int) -> np.ndarray:
    numbers = np.asarray(values, np.float64)
    return np.stack([numbers[o - length : o] for o in origins])


def ours(values: Any, start: int, origins: np.ndarray, series: Series) -> Forecasts:
    model = ShootingForecaster(horizon=series.horizon).fit(values.iloc[:start])
    past = _pasts(values, origins, model.history_)[:, :, None]
    lower, upper = model.predict_interval(past, coverage=COVERAGE)
    parameters = model.n_parameters_ + model._base.linear.weight[0].size + 1  # pyright: ignore
    return Forecasts(model.predict(past)[:, :, 0], ((upper - lower) / 2)[:, :, 0], parameters)


def autoregression(values: Any, start: int, origins: np.ndarray, series: Series) -> Forecasts:
    """Autoregression with lags chosen by Akaike's criterion, up to two seasons if these are not too
    long."""
    from statsmodels.tsa.ar_model import AutoReg, ar_select_order  # pyright: ignore[reportMissingImports]

    numbers = np.asarray(values, np.float64)
    season = series.season if series.season <= 24 else 1
    most = min(max(12, 2 * season + 1), start // 4)
    lags = ar_select_order(numbers[:start], maxlag=most, ic="aic", trend="c").ar_lags or [1]
    model: Any = AutoReg(numbers[:start], lags=lags, trend="c").fit()
    fitted = np.asarray(model.params)
    found = _pasts(values, origins, most)
    for _ in range(series.horizon):
        following = fitted[0] + found[:, [-lag for lag in lags]] @ fitted[1:]
        found = np.concatenate([found, following[:, None]], axis=1)
    return Forecasts(found[:, most:], None, len(fitted))


def smoothing(values: Any, start: int, origins: np.ndarray, series: Series) -> Forecasts:
    """Exponential smoothing with level, trend and season, as a state space model."""
    from statsmodels.tsa.statespace.exponential_smoothing import ExponentialSmoothing  # pyright: ignore[reportMissingImports]

    numbers = np.asarray(values, np.float64)
    season = series.season if 1 < series.season <= 24 else None
    model = ExponentialSmoothing(numbers[:start], trend=True, damped_trend=True, seasonal=season)
    fitted: Any = model.fit(disp=0)
    found = [fitted.apply(numbers[:o]).forecast(series.horizon) for o in origins]
    return Forecasts(np.array(found), None, len(fitted.params))


def seasonal_naive(values: Any, start: int, origins: np.ndarray, series: Series) -> Forecasts:
    """The value of one season ago."""
    past = _pasts(values, origins, series.season)
    repeats = -(-series.horizon // series.season)
    return Forecasts(np.tile(past, (1, repeats))[:, : series.horizon], None, 0)


MODELS = {
    "shootax": ours,
    "AR": autoregression,
    "exponential smoothing": smoothing,
    "seasonal naive": seasonal_naive,
}


def measure(name: str, model: str) -> dict[str, Any]:
    """Errors of one model on all origins of one series."""
    series = SERIES[name]
    values = series.load()
    numbers, length = np.asarray(values, np.float64), len(values)
    bounds = np.linspace(round(length * (1 - TESTED)), length - series.horizon + 1, BLOCKS + 1)
    errors, inside, seconds, parameters = [], [], [], 0
    for begin, end in np.stack([bounds[:-1], bounds[1:]], axis=1).round().astype(int):
        step = max(1, -(-(end - begin) // MOST_ORIGINS))
        origins = np.arange(begin, end, step)
        truth = np.stack([numbers[o : o + series.horizon] for o in origins])
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = MODELS[model](values, begin, origins, series)
        seconds.append(time.process_time() - began)
        errors.append(found.values - truth)
        parameters = found.parameters
        if found.half is not None:
            inside.append(np.abs(errors[-1]) <= found.half)
    squares = np.concatenate(errors) ** 2
    by_origin = squares.mean(axis=1)
    mean, error = float(by_origin.mean()), _standard_error(by_origin, series.horizon)
    return {
        "series": name,
        "model": model,
        "entries": length,
        "horizon": series.horizon,
        "origins": len(by_origin),
        "rmse": mean**0.5,
        "standard_error": error / (2 * mean**0.5),
        "squares": [float(f"{square:.6g}") for square in by_origin],
        "coverage": float(np.concatenate(inside).mean()) if inside else None,
        "parameters": parameters,
        "seconds_median": float(np.median(seconds)),
        "version": sx.__version__,
    }


def _standard_error(by_origin: np.ndarray, horizon: int) -> float:
    """The standard error of a mean over origins. Overlapping origins are not independent, so it is
    computed from stretches of one horizon."""
    groups = np.array_split(by_origin, max(2, len(by_origin) // horizon))
    return float(np.std([g.mean() for g in groups], ddof=1) / len(groups) ** 0.5)


def _ratio(own: dict[str, Any], other: dict[str, Any]) -> tuple[float, float]:
    """The ratio of two errors on the same origins, and its standard error."""
    squares = np.array([own["squares"], other["squares"]])
    ratio = own["rmse"] / other["rmse"]
    error = _standard_error(squares[0] - ratio**2 * squares[1], own["horizon"])
    return ratio, error / (2 * ratio * other["rmse"] ** 2)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def markdown(results: list[dict[str, Any]]) -> str:
    """A row for each series: root mean square errors, their standard errors, and coverage."""
    names = list(dict.fromkeys(row["model"] for row in results))
    lines = [
        f"| series (entries; steps ahead) | {' | '.join(names)} | ours / AR | coverage of 90 % |",
        "|---" * (len(names) + 3) + "|",
    ]
    ratios, covered = [], []
    for name in dict.fromkeys(row["series"] for row in results):
        rows = {row["model"]: row for row in results if row["series"] == name}
        own = rows["shootax"]
        ratio, error = _ratio(own, rows["AR"])
        ratios.append(ratio)
        covered.append(own["coverage"])
        cells = [
            f"{_number(rows[m]['rmse'])} ± {_number(rows[m]['standard_error'])}" for m in names
        ]
        lines.append(
            f"| {name} ({own['entries']}; {own['horizon']}) | {' | '.join(cells)} | "
            f"{ratio:.2f} ± {error:.2f} | {100 * covered[-1]:.0f} % |"
        )
    mean = float(np.exp(np.mean(np.log(ratios))))
    blank = " | " * (len(names) - 1)
    lines.append(f"| all | {blank} | {mean:.2f} | {100 * np.mean(covered):.0f} % |")
    for model in names:
        rows = [row for row in results if row["model"] == model]
        sizes = [row["parameters"] for row in rows]
        seconds = np.median([row["seconds_median"] for row in rows])
        lines.append(
            f"\n{model}: {min(sizes)} to {max(sizes)} parameters, {seconds:.2f} s of processor time for "
            "a fit and its forecasts (median)."
        )
    return "\n".join(lines)


def _as_text(results: list[dict[str, Any]]) -> str:
    """A line of JSON for each result, in the order of series and models."""
    order = [(name, model) for name in SERIES for model in MODELS]
    rows = sorted(results, key=lambda row: order.index((row["series"], row["model"])))
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])  # pyright: ignore
    parser.add_argument("--json", type=pathlib.Path, default=pathlib.Path("series.json"))
    parser.add_argument("--markdown", type=pathlib.Path, help="print the table of a results file")
    parser.add_argument("--series", default="", help="only series whose names begin with this")
    parser.add_argument("--models", default="", help="only models whose names begin with this")
    options = parser.parse_args()
    if options.markdown:
        print(markdown(json.loads(options.markdown.read_text("utf-8"))))
        return
    results = json.loads(options.json.read_text("utf-8")) if options.json.exists() else []
    for name in SERIES:
        for model in MODELS:
            if not (name.startswith(options.series) and model.startswith(options.models)):
                continue
            row = measure(name, model)
            results = [r for r in results if (r["series"], r["model"]) != (name, model)]
            results.append(row)
            options.json.write_text(_as_text(results), "utf-8")
            print(
                f"{name}, {model}: {row['rmse']:.4g} ± {row['standard_error']:.2g}, coverage "
                f"{row['coverage']}, {row['parameters']} parameters, {row['seconds_median']:.2f} s",
                flush=True,
            )


if __name__ == "__main__":
    main()
