"""Forecasts of sequences."""

import warnings
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shootax import _checks as checks
from shootax.export import Whole
from shootax.sklearn import _exporting as exporting
from shootax.sklearn import _training as training
from shootax.sklearn import _windows as windows
from shootax.sklearn._base import AbstractShooting
from shootax.sklearn._scaling import Scaler
from shootax.sklearn._tables import Samples
from shootax.sklearn._windows import Sequences, masked_error


class ShootingForecaster(AbstractShooting):
    """Forecasts of sequences by a network whose depth is time.

    The last `history` entries of a sequence, in a linear map, are the state at the moment of the
    last of them; from there it flows on, and is read at any time up to `horizon` steps ahead.
    Forecasts that go further start again from those before. Entries may be missing, and times
    uneven. The other parameters are those of [`shootax.sklearn.ShootingRegressor`][].

    !!! example

        ```python
        import numpy as np
        from shootax.sklearn import ShootingForecaster

        t = np.arange(40) * 0.2
        phase = np.random.default_rng(0).uniform(0, 6, (20, 1))
        waves = np.sin(t + phase)[:, :, None]  # (sequences, times, features)
        model = ShootingForecaster(history=3, horizon=5, max_iter=20).fit(waves, times=t)
        print(model.predict(waves[:, :10], steps=4).shape)  # (20, 4, 1)
        ```
    """

    def __init__(
        self,
        *,
        history: int = 1,
        horizon: int = 10,
        formulation: str = "dynamic-particles",
        width: int | None = 16,
        inflation: int = 1,
        particles: int = 5,
        depth: int = 5,
        activation: str = "tanh",
        penalty_weight: float = 0.001,
        weight_decay: float = 0.0,
        learning_rate: float = 0.01,
        batch_size: int = 32,
        max_iter: int = 100,
        early_stopping: bool = True,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 30,
        random_state: Any = 0,
        verbose: bool = False,
        mesh: Any = None,
    ):
        """**Arguments:**

        - `history`: how many entries a forecast looks back at.
        - `horizon`: how many entries ahead are learned.
        - the rest as for [`shootax.sklearn.ShootingRegressor`][]. Whole sequences are held out.
        """
        self.history = history
        self.horizon = horizon
        AbstractShooting.__init__(
            self,
            formulation=formulation,
            width=width,
            inflation=inflation,
            particles=particles,
            depth=depth,
            activation=activation,
            penalty_weight=penalty_weight,
            weight_decay=weight_decay,
            learning_rate=learning_rate,
            batch_size=batch_size,
            max_iter=max_iter,
            early_stopping=early_stopping,
            validation_fraction=validation_fraction,
            n_iter_no_change=n_iter_no_change,
            random_state=random_state,
            verbose=verbose,
            mesh=mesh,
        )

    def fit(self, X: Any, y: Any = None, *, times: Any = None, mask: Any = None):
        """Trains on all windows of sequences.

        **Arguments:**

        - `X`: `(sequences, times, features)`, NaN where an entry is missing.
        - `y`: not used; it is there for scikit-learn.
        - `times`: `(times,)` or `(sequences, times)`; by default 0, 1, 2, …
        - `mask`: what was observed, `(sequences, times)` or in the shape of `X`.
        """
        history = checks.positive_integer(self.history, "history")
        horizon = checks.positive_integer(self.horizon, "horizon")
        sequences, rng = windows.checked(X, times, mask), self._random()
        self.n_features_in_ = sequences.values.shape[2]
        if not sequences.observed.any(axis=(0, 1)).all():
            raise ValueError("A feature has no observed entry in any sequence. Leave it out.")
        self._x = windows.scaler(sequences)
        self.step_ = float(np.median(np.diff(sequences.times, axis=1)))
        gaps = np.diff(sequences.times, axis=1)
        self._uneven = bool(np.abs(gaps - self.step_).max() > 1e-6 * self.step_)
        self._missing = not bool(sequences.observed.all())
        cut = windows.cut(sequences, history, horizon)
        delays = cut.future.times - cut.past.times[:, -1:]
        self.span_ = float(delays.max())
        inputs = self._inputs(cut.past)
        targets = (self._scaled(cut.future), cut.future.observed.astype(np.float64))
        held = self._held_out(len(sequences.values), rng)
        out = np.isin(cut.source, held)
        if out.all() or not out.any():
            out = np.zeros_like(out)

        def part(chosen: np.ndarray) -> Samples:
            return Samples(inputs, targets, np.ones(len(inputs)), delays / self.span_).take(chosen)

        shape = self._shape(inputs.shape[1], self.n_features_in_)
        kept = part(~out)
        self._train(shape, kept, part(out) if out.any() else None, masked_error, rng)
        truth, observed = kept.y
        squares = (training.outputs(self.net_, kept.x, kept.times) - truth) ** 2 * observed
        self.loss_ = float(np.mean(squares.sum(axis=(1, 2)) / observed.sum(axis=(1, 2))))
        return self

    def predict(
        self,
        X: Any,
        *,
        steps: int | None = None,
        at: Any = None,
        times: Any = None,
        mask: Any = None,
    ) -> np.ndarray:
        """Forecasts `(sequences, moments, features)`.

        **Arguments:**

        - `X`, `times`, `mask`: the past, as in `fit`, with at least `history` entries.
        - `steps`: forecast so many steps ahead, each as long as the median one of `fit`; by default
            `horizon`. Or give
        - `at`: how long after the last entry of `X` to forecast, increasing: `(moments,)` or
            `(sequences, moments)`.
        """
        check_is_fitted(self)
        past = self._checked_past(X, times, mask)
        if steps is not None and at is not None:
            raise ValueError("Give `steps` or `at`, not both.")
        if at is None:
            steps = self.horizon if steps is None else checks.positive_integer(steps, "steps")
            at = self.step_ * np.arange(1, steps + 1)
        at = np.asarray(at, np.float64)
        count = len(past.values)
        if at.ndim not in (1, 2) or at.size == 0 or (at.ndim == 2 and len(at) != count):
            raise ValueError(
                f"at must have shape (moments,) or ({count}, moments), got {at.shape}."
            )
        at = np.broadcast_to(at, (count, at.shape[-1]))
        if not np.isfinite(at).all() or (at < 0).any() or (np.diff(at, axis=1) < 0).any():
            raise ValueError("at must be finite, not negative, and sorted along the last axis.")
        return self._x.back(self._roll(past, at))

    def score(self, X: Any, y: Any = None, *, times: Any = None, mask: Any = None) -> float:
        """$R^2$ of forecasts up to `horizon` steps ahead, over all windows of `X`."""
        check_is_fitted(self)
        sequences = windows.checked(X, times, mask)
        cut = windows.cut(sequences, self.history, self.horizon)
        truth, seen = self._scaled(cut.future), cut.future.observed
        delays = cut.future.times - cut.past.times[:, -1:]
        errors = (self._roll(cut.past, delays) - truth)[seen]
        spread = (truth - np.average(truth, axis=(0, 1), weights=seen))[seen]
        return float(1 - np.sum(errors**2) / max(np.sum(spread**2), np.finfo(float).tiny))

    def _roll(self, past: Sequences, at: np.ndarray) -> np.ndarray:
        """Scaled forecasts, piece by piece, each from the end of the one before."""
        length = min(self.horizon * self.step_, self.span_)
        steps = max(round(length / self.step_), 1)
        grid = self.step_ * np.arange(1, steps + 1)
        slack = 1e-9 * self.step_
        out = np.empty((*at.shape, self.n_features_in_))
        inputs, begin = self._inputs(past), 0.0
        scaled = Sequences(self._scaled(past), past.observed, past.times)
        # One piece may take all of the time that was learned, if nothing follows it.
        while True:
            final = at.max() <= begin + self.span_ + slack
            limit = np.inf if final else begin + grid[-1] + slack
            inside = (at <= limit) & (at > (begin - slack if begin == 0 else begin + slack))
            wanted = np.clip(np.where(inside, at - begin, 0.0), 0.0, self.span_)
            moments = np.concatenate([wanted, np.broadcast_to(grid, (len(at), steps))], axis=1)
            order = np.argsort(moments, axis=1, kind="stable")
            moments = np.clip(np.take_along_axis(moments, order, axis=1) / self.span_, 0.0, 1.0)
            values = training.outputs(self.net_, inputs, moments)
            back = np.argsort(order, axis=1)[:, :, None]
            values = np.take_along_axis(values, back, axis=1)
            out[inside] = values[:, : at.shape[1]][inside]
            if final:
                return out
            scaled = windows.appended(scaled, values[:, at.shape[1] :], self.step_).last(
                self.history
            )
            inputs, begin = self._features(scaled), begin + grid[-1]

    def _checked_past(self, X: Any, times: Any, mask: Any) -> Sequences:
        past = windows.checked(X, times, mask)
        if past.values.shape[2] != self.n_features_in_:
            raise ValueError(
                f"X has {past.values.shape[2]} features, but {type(self).__name__} was fitted with "
                f"{self.n_features_in_}."
            )
        if past.values.shape[1] < self.history:
            raise ValueError(
                f"A forecast looks back at {self.history} entries, got {past.values.shape[1]}."
            )
        past = past.last(self.history)
        if not self._missing and not past.observed.all():
            warnings.warn(
                "Entries are missing, which they never were in training; means stand in for them.",
                stacklevel=3,
            )
        return past

    def _inputs(self, past: Sequences) -> np.ndarray:
        return self._features(Sequences(self._scaled(past), past.observed, past.times))

    def _features(self, past: Sequences) -> np.ndarray:
        """Scaled values; where it matters, what was observed, and the gaps in time."""
        parts = [past.values.reshape(len(past.values), -1)]
        if self._missing:
            parts.append(past.observed.reshape(len(parts[0]), -1).astype(np.float64))
        if self._uneven and self.history > 1:
            parts.append(np.diff(past.times, axis=1) / self.step_ - 1)
        return np.concatenate(parts, axis=1)

    def _scaled(self, sequences: Sequences) -> np.ndarray:
        return np.where(sequences.observed, self._x.forward(sequences.values), 0.0)

    def _held_out(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Whole sequences, so that no window overlaps one that is trained on."""
        number = round(count * self._held_out_fraction())
        return rng.permutation(count)[:number]

    def _exported(self) -> Whole:
        check_is_fitted(self)
        return exporting.forecasts(self)

    def _state(self) -> dict[str, Any]:
        return {
            "scaler": [v.tolist() for v in self._x],
            "step": self.step_,
            "span": self.span_,
            "uneven": self._uneven,
            "missing": self._missing,
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._x = Scaler(*map(np.array, state["scaler"]))
        self.step_, self.span_ = state["step"], state["span"]
        self._uneven, self._missing = state["uneven"], state["missing"]
