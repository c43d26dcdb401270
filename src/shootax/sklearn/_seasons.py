"""The length of the season of a series, from its calendar or from its autocorrelation."""

from typing import Any

import numpy as np

from shootax import _checks as checks
from shootax.sklearn._windows import Sequences

LEAST_CORRELATION, NEARLY = 0.3, 0.8

BY_CALENDAR = {"M": 12, "Q": 4, "W": 52, "D": 7, "B": 5, "h": 24, "min": 60, "s": 60}


def of_calendar(frequency: str | None) -> int | None:
    """The usual season of a pandas frequency, such as 12 for `"MS"`; `None` if it has none.

    **Arguments:** `frequency`, the `freqstr` of an index.
    """
    if frequency is None:
        return None
    name = frequency.split("-")[0]
    number = "".join(c for c in name if c.isdigit())
    unit = name[len(number) :]
    unit = {"H": "h", "T": "min", "S": "s"}.get(unit, unit)  # the names in older versions of pandas
    for ending in ("S", "E"):  # at the start or at the end of the month or quarter
        if len(unit) > 1 and unit.endswith(ending) and unit[0] in "BMQ":
            unit = unit[:-1]
    unit = unit[1:] if unit in ("BM", "BQ") else unit
    season = BY_CALENDAR.get(unit)
    if season is None:
        return None
    length = season / int(number or 1)
    return int(length) if length == int(length) and length > 1 else None


def of_values(values: np.ndarray, observed: np.ndarray) -> int:
    """The lag with the highest autocorrelation of the changes of sequences; 1 if there is none.

    **Arguments:** `values`, `observed`: `(sequences, times, features)`.
    """
    changes = np.diff(values, axis=1) * (observed[:, 1:] & observed[:, :-1])
    changes = changes - changes.mean(axis=1, keepdims=True)
    length = changes.shape[1]
    longest = length // 4
    if longest < 3:
        return 1
    power = np.abs(np.fft.rfft(changes, 2 * length, axis=1)) ** 2
    sums = np.fft.irfft(power, axis=1).sum(axis=(0, 2))[: longest + 1]
    if sums[0] <= 0:
        return 1
    correlation = sums / sums[0] * length / (length - np.arange(longest + 1))
    peaks = [
        k
        for k in range(2, longest)
        if correlation[k] > LEAST_CORRELATION and correlation[k] == correlation[k - 1 : k + 2].max()
    ]
    # Multiples of the season are peaks, too, so take the first that is nearly as high as the highest.
    high = NEARLY * max((correlation[k] for k in peaks), default=0.0)
    return next((k for k in peaks if correlation[k] >= high), 1)


def season(given: Any, frequency: str | None, scaled: Sequences) -> int:
    """The season given by the user, or else from the calendar, or else from the values."""
    if given is not None:
        return checks.positive_integer(given, "season")
    return of_calendar(frequency) or of_values(scaled.values, scaled.observed)


def history(given: Any, scaled: Sequences, horizon: int, season: int) -> int:
    """The number of past entries to use: that given by the user, or else two seasons, at least 24
    entries, at most a third of the sequence."""
    if given is not None:
        return checks.positive_integer(given, "history")
    length = scaled.values.shape[1]
    return max(1, min(max(24, 2 * season + 2), (length - horizon) // 3))
