"""Choose the autoregressions that a forecaster averages, by their errors on held-out windows."""

import itertools
from typing import Any, NamedTuple

import numpy as np

from shootax.sklearn import _linear as linear
from shootax.sklearn._linear import Linear
from shootax.sklearn._windows import Sequences, Windows, filled_forward

FOLDS = 4
LEAST_WINDOWS = 12
LEAST_TRAINED = 5
HELD_OUT = 0.2
MOST_OF_OTHERS, ENOUGH = 0.5, 10
SHARPNESS = 3.0
"""How fast the weight of an autoregression falls with its error relative to the best one."""


class Fold(NamedTuple):
    """The data that an autoregression is fitted to (the sequences `rows`, up to entry `stop`), and the
    windows on which it is evaluated."""

    rows: np.ndarray
    stop: int
    windows: np.ndarray


class Choice(NamedTuple):
    """The averaged autoregression, and its errors.

    **Arguments:**

    - `final`: the autoregression fitted to all data.
    - `held_back`: the autoregression fitted without the last fold.
    - `errors`: truth minus forecast on the windows of all folds, in order. Each forecast is by maps
        that were fitted without its fold.
    - `relative`: whether autoregressions of differences forecast better than those of values.
    """

    final: Linear
    held_back: Linear
    errors: np.ndarray
    relative: bool


def folds(
    windows: Windows, shape: tuple[int, ...], fraction: float, rng: np.random.Generator
) -> list[Fold] | None:
    """Divide windows into folds, or return `None` if there are too few. The net is not trained on the
    last fold.

    Whole sequences are held out if there are enough of them, otherwise the ends of all sequences. In
    that case, each fold comes after the data that its autoregression is fitted to.
    """
    count, length = shape[:2]
    if len(windows.source) < LEAST_WINDOWS:
        return None
    number = max(round(count * fraction), 1)
    everything = np.arange(len(windows.source))
    if count >= 2 * (FOLDS + 1) and len(np.unique(windows.source)) == count:
        mixed = rng.permutation(count)
        held, kept = mixed[:number], mixed[number:]
        groups = [*np.array_split(kept, FOLDS), held]
        parts = []
        for group in groups:
            rows = np.setdiff1d(kept, group)
            parts.append(Fold(rows, length, everything[np.isin(windows.source, group)]))
        return parts
    origins = np.unique(windows.origin)
    if len(origins) < LEAST_WINDOWS:
        return None
    start = len(origins) - max(round(len(origins) * max(fraction, HELD_OUT)), 2)
    cuts = np.linspace(max(0.25 * start, 1), start, FOLDS + 1).round().astype(int)
    bounds = [*origins[cuts], length]
    parts = [
        Fold(
            np.arange(count),
            int(begin),
            everything[(windows.origin >= begin) & (windows.origin < end)],
        )
        for begin, end in itertools.pairwise(bounds)
    ]
    return [fold for fold in parts if len(fold.windows)]


def apart(windows: Windows, last: Fold) -> np.ndarray:
    """A mask of the windows that share no forecast entry with those of the last fold. If these are very
    few, of all windows outside the last fold."""
    out = np.isin(np.arange(len(windows.source)), last.windows)
    end = windows.origin + windows.future.values.shape[1]
    before = ~out & (end <= last.stop)
    return before if before.sum() >= LEAST_TRAINED else ~out


def tells(windows: Windows, last: Fold) -> bool:
    """Whether the last fold is large enough to show if the net helps. Overlapping windows are nearly
    equal, so the ends of sequences must be two horizons long, one for each half."""
    origins = np.unique(windows.origin[last.windows])
    ends = bool((windows.origin[last.windows] >= last.stop).all())
    return not ends or len(origins) >= 2 * windows.future.values.shape[1]


def choose(
    sequences: Sequences, windows: Windows, parts: list[Fold], seasons: list[int]
) -> Choice | None:
    """The average of an ordinary autoregression and of many others, weighted by their errors, or `None`
    if the sequences are too short for any.

    The ordinary one, whose number of lags Akaike's criterion chooses, has at least half of the weight.
    Its weight is larger if there is less evidence about the others, so that a wrong choice costs
    little.

    **Arguments:** `sequences`, the scaled sequences; `windows`, cut from them; `parts`, the result of
    `folds`; `seasons`, the lengths to try.
    """
    history, horizon = windows.past.values.shape[1], windows.future.values.shape[1]
    past = filled_forward(windows.past)
    truth, seen = windows.future.values, windows.future.observed
    most = min(max(12, 2 * max(seasons) + 1), history)

    def maps(order: linear.Order, values: np.ndarray, observed: np.ndarray) -> Linear | None:
        return linear.fitted(order, values, observed, history, horizon)

    # The last entry is all data.
    data = [
        (sequences.values[f.rows, : f.stop], sequences.observed[f.rows, : f.stop]) for f in parts
    ]
    data.append((sequences.values, sequences.observed))
    ordinary = [maps(linear.plain(*part, most), *part) for part in data]
    orders = linear.candidates(history, seasons, truth.shape[2])
    found: dict[linear.Order, list[Any]]
    found = {order: [maps(order, *part) for part in data] for order in orders}
    found = {order: made for order, made in found.items() if all(m is not None for m in made)}

    def errors(made: list) -> np.ndarray:
        pairs = zip(made[:-1], parts, strict=True)
        return np.concatenate([(truth[f.windows] - m(past[f.windows])) for m, f in pairs])

    known = np.concatenate([seen[f.windows] for f in parts])
    losses = {order: float(np.mean(errors(made)[known] ** 2)) for order, made in found.items()}
    if not losses:
        return None
    best = max(min(losses.values()), linear.SMALLEST)
    weights = np.array([np.exp(-SHARPNESS * (max(e, best) / best - 1)) for e in losses.values()])
    averaged, others = [], MOST_OF_OTHERS * evidence(windows, parts, horizon)
    for i in range(len(data)):
        average = linear.average([made[i] for made in found.values()], weights)
        plain = ordinary[i]
        averaged.append(
            average if plain is None else linear.average([plain, average], [1 - others, others])
        )

    def least(relative: bool) -> float:
        some = [e for o, e in losses.items() if (o.differences + o.seasonal > 0) == relative]
        return min(some, default=np.inf)

    return Choice(
        final=averaged[-1],
        held_back=averaged[-2],
        errors=errors(averaged),
        relative=bool(least(True) < least(False)) and history > 1,
    )


def stretches(windows: Windows, some: np.ndarray) -> np.ndarray:
    """Group windows that begin within about one horizon in a sequence, and return the group numbers.

    **Arguments:** `some`, the indices of the windows to group.
    """
    horizon = windows.future.values.shape[1]
    out, first = np.empty(len(some), int), 0
    for sequence in np.unique(windows.source[some]):
        own = windows.source[some] == sequence
        origins, place = np.unique(windows.origin[some][own], return_inverse=True)
        number = max(len(origins) // horizon, 1)
        out[own] = first + place.reshape(-1) * number // len(origins)
        first += number
    return out


def evidence(windows: Windows, parts: list[Fold], horizon: int) -> float:
    """The amount of evidence in the folds, from 0 to 1, by the number of forecasts that do not overlap;
    ten of them are enough."""
    judged = np.concatenate([fold.windows for fold in parts])
    stretches = len(np.unique(windows.origin[judged])) / horizon
    return min(1.0, stretches * len(np.unique(windows.source[judged])) / ENOUGH)
