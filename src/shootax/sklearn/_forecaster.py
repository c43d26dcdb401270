"""Forecasts of sequences."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from shootax import _checks as checks
from shootax.export import Whole
from shootax.sklearn import _choosing as choosing
from shootax.sklearn import _exporting_series as exporting
from shootax.sklearn import _forecasting as forecasting
from shootax.sklearn import _rolling as rolling
from shootax.sklearn import _seasons as seasons
from shootax.sklearn import _series as series
from shootax.sklearn import _training as training
from shootax.sklearn import _windows as windows
from shootax.sklearn._base import AbstractShooting
from shootax.sklearn._scaling import Scaler
from shootax.sklearn._tables import Samples
from shootax.sklearn._windows import Sequences, Windows, masked_error


class ShootingForecaster(AbstractShooting):
    """Forecasts of sequences by a linear autoregression and a network whose depth is time.

    The autoregression models trend and season. A network learns its residuals: a linear map of the last
    `history` entries of a sequence is the state at the time of the last entry. From there the state
    flows forward in time, and is read out at any time up to `horizon` steps ahead. The forecast adds a
    share of the network, between 0 and 1, which is estimated on windows that neither part was fitted
    to. Forecasts beyond `horizon` restart from earlier forecasts. Entries may be missing. If times are
    uneven, there is no autoregression.

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

    After `fit`, it has the attributes of every estimator, and also `history_` and `season_`, in steps,
    and `network_share_`, the share of the network in the forecast.
    """

    _base: forecasting.Base | None = None
    _spans: forecasting.Spans | None = None
    _frequency: str | None = None

    def __init__(
        self,
        *,
        history: int | None = None,
        horizon: int = 10,
        season: int | None = None,
        linear: bool = True,
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

        - `history`: the number of past entries that a forecast uses. By default two seasons, at least
            24 entries, at most a third of the sequences.
        - `horizon`: the number of steps ahead to learn.
        - `season`: the length of the season in steps; 1 for none. By default that of the calendar for a
            pandas index (12 for months, 4 for quarters, 24 for hours, …), otherwise the lag at which
            changes repeat best, if any.
        - `linear`: whether the network only corrects a linear autoregression, as far as that helps on
            held-out windows. Otherwise the network forecasts alone.
        - The others are as for [`shootax.sklearn.ShootingClassifier`][]. Whole sequences are held out;
            with fewer than ten sequences, the ends of all are, at least a fifth.
        """
        self.history = history
        self.horizon = horizon
        self.season = season
        self.linear = linear
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
        """Train on all windows of sequences.

        **Arguments:**

        - `X`: `(sequences, times, features)`, NaN where an entry is missing; or one series:
            `(times,)`, or a pandas `Series` or `DataFrame`, whose index gives the times.
        - `y`: not used; it exists for compatibility with scikit-learn.
        - `times`: `(times,)` or `(sequences, times)`; by default 0, 1, 2, …, or the index of `X`. Dates
            and durations count in days.
        - `mask`: true where an entry was observed, `(sequences, times)` or in the shape of `X`.
        """
        horizon = checks.positive_integer(self.horizon, "horizon")
        values, times, mask, form = series.taken(X, times, mask)
        sequences, rng = windows.checked(values, times, mask), self._random()
        self.n_features_in_, self._frequency = sequences.values.shape[2], form.frequency
        series.learn_columns(self, X)
        if not sequences.observed.any(axis=(0, 1)).all():
            raise ValueError("A feature has no observed entry in any sequence. Leave it out.")
        self._x = windows.scaler(sequences)
        self.step_ = windows.step(sequences)
        self._uneven = not windows.even(sequences, self.step_, 1e-6)
        self._missing = not bool(sequences.observed.all())
        scaled = sequences._replace(values=self._scaled(sequences))
        self.season_ = seasons.season(self.season, self._frequency, scaled)
        self.history_ = seasons.history(self.history, scaled, horizon, self.season_)
        cut = windows.cut(scaled, self.history_, horizon)
        self.span_ = float((cut.future.times - cut.past.times[:, -1:]).max())
        self._base = self._spans = None
        if self.linear and not self._uneven:
            parts = choosing.folds(cut, scaled.values.shape, self._held_out_fraction(), rng)
            choice = None if parts is None else choosing.choose(scaled, cut, parts, [self.season_])
            if parts and choice is not None:
                return self._fit_rest(cut, parts, choice, rng)
        # Whole sequences, so that no window overlaps one that is trained on.
        count = len(scaled.values)
        held = rng.permutation(count)[: round(count * self._held_out_fraction())]
        out = np.isin(cut.source, held)
        out = np.zeros_like(out) if out.all() else out
        found = self._fit_net(cut, cut.future.values, ~out, out, rng)
        if out.any():
            errors = (cut.future.values - found)[out]
            self._spans = forecasting.Spans.of(errors, cut.future.observed[out])
        self.loss_ = windows.mean_square(found, cut.future, ~out)
        return self

    def _fit_rest(
        self,
        cut: Windows,
        parts: list[choosing.Fold],
        choice: choosing.Choice,
        rng: np.random.Generator,
    ) -> "ShootingForecaster":
        """Train the net on the residuals of the autoregression, and estimate its share."""
        out = np.isin(np.arange(len(cut.source)), parts[-1].windows)
        kept = choosing.apart(cut, parts[-1])
        observed = cut.future.observed
        rest = cut.future.values - choice.held_back(windows.filled_forward(cut.past))
        scale = forecasting.residual_scale(rest[kept], observed[kept])
        spread = forecasting.spread_of(cut.past) if choice.relative else None
        self._base = forecasting.Base(choice.final, scale, 0.0, spread)
        found = scale * self._fit_net(cut, rest / scale, kept, out, rng)
        enough = choosing.tells(cut, parts[-1])
        groups = choosing.stretches(cut, np.flatnonzero(out))
        held = (rest[out], found[out], observed[out], groups)
        share = forecasting.share_of(*held) if enough else 0.0
        self._base = self._base._replace(share=share)
        # The windows of all folds; the net was not trained on those of the last one.
        errors, count = choice.errors.copy(), len(parts[-1].windows)
        errors[-count:] -= share * found[parts[-1].windows]
        judged = np.concatenate([fold.windows for fold in parts])
        known = choosing.evidence(cut, parts, self.horizon)
        local = known * forecasting.local_share(self.history_)
        past = Sequences(*(part[judged] for part in cut.past))
        self._spans = forecasting.Spans.of(errors, observed[judged], past, local)
        forecasts = cut.future.values - rest + share * found
        self.loss_ = windows.mean_square(forecasts, cut.future, kept)
        return self

    def _fit_net(
        self,
        cut: Windows,
        targets: np.ndarray,
        kept: np.ndarray,
        out: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Train the net on some windows, and return its outputs for all."""
        inputs, observed = self._features(cut.past), cut.future.observed
        delays = (cut.future.times - cut.past.times[:, -1:]) / self.span_
        y = (np.where(observed, targets, 0.0), observed.astype(np.float64))
        samples = Samples(inputs, y, np.ones(len(inputs)), delays)
        shape = self._shape(inputs.shape[1], self.n_features_in_)
        held = samples.take(out) if self.early_stopping and out.any() else None
        self._train(shape, samples.take(kept), held, masked_error, rng)
        return training.outputs(self.net_, inputs, delays)

    @property
    def network_share_(self) -> float:
        """The share of the net that is added to the autoregression, from 0 to 1; 1 if there is no
        autoregression."""
        check_is_fitted(self)
        return 1.0 if self._base is None else self._base.share

    def predict(
        self,
        X: Any,
        *,
        steps: int | None = None,
        at: Any = None,
        times: Any = None,
        mask: Any = None,
    ) -> Any:
        """Forecast the continuation of each sequence, `(sequences, moments, features)`.

        For a one-dimensional array the result is `(moments,)`. For a pandas object it is an object of
        the same type, with the index continued.

        **Arguments:**

        - `X`, `times`, `mask`: the past, as in `fit`, with at least `history_` entries.
        - `steps`: the number of steps to forecast, each as long as the median step in `fit`; by
            default `horizon`.
        - `at`: the times to forecast, instead of `steps`: increasing times since the last entry of
            `X`, `(moments,)` or `(sequences, moments)`. For pandas they are in steps, or in days if
            the dates have no frequency, or in the unit of an uneven index of numbers.
        """
        check_is_fitted(self)
        past, form = rolling.checked_past(self, X, times, mask)
        at = windows.moments(len(past.values), steps, at, self.horizon, self.step_)
        return form.back(self._x.back(rolling.rolled(self, past, at)), at[0], not self._uneven)

    def predict_interval(
        self,
        X: Any,
        *,
        coverage: float = 0.9,
        steps: int | None = None,
        at: Any = None,
        times: Any = None,
        mask: Any = None,
    ) -> tuple[Any, Any]:
        """Return the lower and the upper ends of prediction intervals, each in the form of `predict`.

        The width of an interval, by step and feature, is a quantile of the forecast errors on windows
        that were held out in `fit`. The intervals are valid if the future is as hard to forecast as
        these windows were.

        **Arguments:**

        - `coverage`: the probability that the interval at one moment contains the truth.
        - The others are as for `predict`, but times must not be beyond `horizon`.
        """
        check_is_fitted(self)
        coverage = forecasting.checked_coverage(coverage)
        if self._spans is None:
            raise ValueError(
                "Intervals need windows that were held out in `fit`, and there were none. Fit with "
                "longer or more sequences. If the model is from an older file, fit it again."
            )
        past, form = rolling.checked_past(self, X, times, mask)
        at = windows.moments(len(past.values), steps, at, self.horizon, self.step_)
        if at.max() > self.horizon * self.step_ * (1 + 1e-9):
            raise ValueError(
                f"Intervals exist only up to `horizon` = {self.horizon} steps ahead. Fit with a larger "
                "`horizon`."
            )
        middle = rolling.rolled(self, past, at)
        scaled = past._replace(values=self._scaled(past))
        half = self._spans.at(coverage, at / self.step_, scaled)
        ends = (self._x.back(middle - half), self._x.back(middle + half))
        lower, upper = (form.back(end, at[0], not self._uneven) for end in ends)
        return lower, upper

    def score(self, X: Any, y: Any = None, *, times: Any = None, mask: Any = None) -> float:
        """Return $R^2$ of forecasts up to `horizon` steps ahead, over all windows of `X`."""
        check_is_fitted(self)
        series.check_columns(X, getattr(self, "feature_names_in_", None))
        values, times, mask, _ = series.taken(X, times, mask, self._frequency, uneven=self._uneven)
        sequences = windows.checked(values, times, mask)
        cut = windows.cut(sequences, self.history_, self.horizon)
        truth, seen = self._scaled(cut.future), cut.future.observed
        delays = cut.future.times - cut.past.times[:, -1:]
        errors = (rolling.rolled(self, cut.past, delays) - truth)[seen]
        spread = (truth - np.average(truth, axis=(0, 1), weights=seen))[seen]
        return float(1 - np.sum(errors**2) / max(np.sum(spread**2), np.finfo(float).tiny))

    def _shown(self, past: np.ndarray, future: np.ndarray) -> forecasting.Shown:
        return forecasting.shown(self, past, future)

    def _features(self, past: Sequences) -> np.ndarray:
        """The inputs of the net from a scaled past: values, the mask if entries are missing, and time
        steps if these are uneven."""
        if self._base is None:
            parts = [past.values.reshape(len(past.values), -1)]
        else:
            parts = [self._base.inputs(past)]
        if self._missing:
            parts.append(past.observed.reshape(len(parts[0]), -1).astype(np.float64))
        if self._uneven and self.history_ > 1:
            parts.append(np.diff(past.times, axis=1) / self.step_ - 1)
        return np.concatenate(parts, axis=1)

    def _scaled(self, sequences: Sequences) -> np.ndarray:
        return np.where(sequences.observed, self._x.forward(sequences.values), 0.0)

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
            "history": self.history_,
            "season": self.season_,
            "frequency": self._frequency,
            "base": None if self._base is None else self._base.to_json(),
            "spans": None if self._spans is None else self._spans.to_json(),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        self._x = Scaler(*map(np.array, state["scaler"]))
        self.step_, self.span_ = state["step"], state["span"]
        self._uneven, self._missing = state["uneven"], state["missing"]
        # Older files have only a net.
        self.history_, self.season_ = state.get("history", self.history), state.get("season", 1)
        self._frequency = state.get("frequency")
        base, spans = state.get("base"), state.get("spans")
        self._base = None if base is None else forecasting.Base.from_json(base)
        self._spans = None if spans is None else forecasting.Spans.from_json(spans)
