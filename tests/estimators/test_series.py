"""Single series: trend, season, intervals, and the index of pandas."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from shootax.sklearn import ShootingForecaster, _linear, _seasons, _series
from shootax.sklearn._choosing import stretches
from shootax.sklearn._forecasting import Spans, between, share_of
from shootax.sklearn._model import Shape, first
from shootax.sklearn._windows import Sequences, checked, cut, filled_forward, mean_square

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2, "max_iter": 2, "horizon": 5}
T = np.arange(96.0)
SEASONAL = 3 + 0.5 * T + np.tile(np.random.default_rng(0).normal(size=12), 8)
MONTHS = pd.Series(SEASONAL, pd.date_range("2001-01-01", periods=96, freq="MS"), name="sold")


def order(lags, differences=0, seasonal=0, season=1, ridge=0.0, cross=False):
    return _linear.Order(lags, differences, seasonal, season, ridge, cross)


def fitted(values, kind, history, horizon):
    values = np.reshape(values, (1, len(values), -1))
    return _linear.fitted(kind, values, np.ones(values.shape, bool), history, horizon)


def test_an_autoregression_finds_its_recursion():
    """Without noise the coefficients are exact, and so are forecasts of many steps."""
    y = [1.0, 0.5]
    for _ in range(40):
        y.append(0.3 + 1.2 * y[-1] - 0.7 * y[-2])
    found = fitted(y[:20], order(2), 4, 10)
    np.testing.assert_allclose(
        found(np.array(y[16:20])[None, :, None])[0, :, 0], y[20:30], atol=1e-5
    )


def test_two_features_see_each_other():
    angle = 0.4 * np.arange(30)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    found = fitted(circle[:20], order(1, cross=True), 1, 10)
    np.testing.assert_allclose(found(circle[None, 19:20])[0], circle[20:], atol=1e-5)
    assert (
        np.abs(fitted(circle[:20], order(1), 1, 10)(circle[None, 19:20])[0] - circle[20:]).max()
        > 0.1
    )


def test_differences_take_trend_and_season():
    found = fitted(SEASONAL[:60], order(0, differences=1, seasonal=1, season=12), 13, 30)
    np.testing.assert_allclose(
        found(SEASONAL[None, 47:60, None])[0, :, 0], SEASONAL[60:90], rtol=1e-9
    )
    assert fitted(SEASONAL[:14], order(3, 1, 1, 12), 16, 2) is None, "too short for it"


def test_entries_that_are_missing_are_not_fitted_to():
    values = SEASONAL.reshape(1, -1, 1).copy()
    observed = np.random.default_rng(1).uniform(size=values.shape) > 0.1
    values[~observed] = 1e6
    found = _linear.fitted(order(0, 1, 1, 12), values, observed, 13, 5)
    np.testing.assert_allclose(found(SEASONAL[None, :13, None])[0, :, 0], SEASONAL[13:18])


def test_the_ordinary_order():
    rng, y = np.random.default_rng(0), [0.0, 0.0, 0.0]
    for _ in range(600):
        y.append(0.5 * y[-1] - 0.6 * y[-3] + rng.normal())
    values = np.array(y).reshape(1, -1, 1)
    assert 3 <= _linear.plain(values, np.ones(values.shape, bool), 12).lags <= 5


def test_filled_forward():
    values = np.array([[[0.0], [2.0], [0.0], [4.0]]])
    observed = np.array([[[False], [True], [False], [True]]])
    got = filled_forward(Sequences(values, observed, np.zeros((1, 4))))
    np.testing.assert_array_equal(got[0, :, 0], [2, 2, 2, 4])


def test_errors_are_means_over_what_each_window_shows():
    values = np.array([[[1.0], [2.0]], [[3.0], [0.0]], [[9.0], [9.0]]])
    observed = np.array([[[True], [True]], [[True], [False]], [[True], [True]]])
    future = Sequences(values, observed, np.zeros((3, 2)))
    # (1 + 4) / 2 for the first window and 9 for the second; the third is not chosen.
    found = mean_square(np.zeros((3, 2, 1)), future, np.array([True, True, False]))
    assert found == (2.5 + 9) / 2


def test_particles_begin_near_samples_and_not_on_them():
    shape = Shape(3, 1, "dynamic-particles", 2, 2, 40, 2, "tanh")
    net = first(shape, np.zeros((5, 3)), np.random.default_rng(0))
    q, bias = np.asarray(net.control.ensemble.q), np.asarray(net.lift.bias)
    assert np.abs((q - bias).std(axis=0) - 0.1).max() < 0.05
    assert np.abs((q - bias).mean(axis=0)).max() < 0.07


@pytest.mark.parametrize(
    ("frequency", "season"),
    [
        *(
            ("MS", 12),
            ("ME", 12),
            ("M", 12),
            ("BMS", 12),
            ("QS-OCT", 4),
            ("Q-DEC", 4),
            ("W-SUN", 52),
        ),
        *(("D", 7), ("B", 5), ("h", 24), ("H", 24), ("15min", 4), ("2h", 12)),
        *(("YS-JAN", None), ("A-DEC", None), ("7h", None), (None, None)),
    ],
)
def test_seasons_of_the_calendar(frequency, season):
    assert _seasons.of_calendar(frequency) == season


def test_seasons_of_values():
    def season(y):
        return _seasons.of_values(y.reshape(1, -1, 1), np.ones((1, len(y), 1), bool))

    noise = np.random.default_rng(0).normal(size=300)
    assert season(np.sin(2 * np.pi * np.arange(300) / 11) * 5 + noise) in (10, 11, 12)
    assert season(noise) == season(np.cumsum(noise)) == season(np.ones(300)) == 1
    assert [season(np.tile([0.0, 5.0], 7)[:count]) for count in (12, 13)] == [1, 2]
    assert [season(np.tile([0.0, 1.0, 5.0], 7)[:count]) for count in (16, 17)] == [1, 3]


@pytest.fixture(scope="module")
def monthly():
    import jax

    with jax.numpy_dtype_promotion("standard"):
        return ShootingForecaster(**SMALL).fit(MONTHS[:84])


def test_trend_and_season_by_default(monthly):
    assert (monthly.season_, monthly.history_) == (12, 26)
    forecast = monthly.predict(MONTHS[:84])
    assert np.abs(forecast - MONTHS[84:89]).max() < 0.1 * np.std(SEASONAL - 0.5 * T)


def test_a_number_of_steps_is_not_a_past(monthly):
    with pytest.raises(ValueError, match=r"got the number 12.*predict\(series, steps=12\)"):
        monthly.predict(12)


def test_a_series_comes_back_as_a_series(monthly):
    forecast = monthly.predict(MONTHS[:84], steps=7)
    assert forecast.name == "sold"
    pd.testing.assert_index_equal(forecast.index, MONTHS.index[84:91])
    lower, upper = monthly.predict_interval(MONTHS[:84])
    assert lower.index.equals(MONTHS.index[84:89])
    assert (lower < upper).all()
    ((value,),) = monthly.predict(MONTHS.to_numpy()[None, :84, None], steps=1)[0:1, :, 0]
    assert value == forecast.iloc[0]
    array = monthly.predict(SEASONAL[:84])
    np.testing.assert_array_equal(array, forecast[:5])
    chosen = monthly.predict(MONTHS[:84], at=[2, 4])
    pd.testing.assert_series_equal(chosen, forecast.iloc[[1, 3]], check_freq=False)
    for steps in ([2, 2], [1, 1], [1, 2]):  # one moment twice is one row twice
        rows = monthly.predict(MONTHS[:84], at=steps)
        expected = forecast.iloc[np.subtract(steps, 1)]
        pd.testing.assert_series_equal(rows, expected, check_freq=False)
    assert rows.index.freq == MONTHS.index.freq
    assert monthly.predict(MONTHS[:84], at=[0, 2]).index.tolist() == MONTHS.index[[83, 85]].tolist()
    with pytest.raises(ValueError, match="whole numbers of steps"):
        monthly.predict(MONTHS[:84], at=[0.5])


def test_times_unlike_those_of_training_are_told(monthly, recwarn):
    monthly.predict(SEASONAL[:84])
    assert not recwarn.list
    with pytest.warns(UserWarning, match="not 1 apart"):
        monthly.predict(SEASONAL[:84], times=2 * np.arange(84))


def test_other_indices(monthly):
    periods = monthly.predict(MONTHS.to_period()[:84])
    pd.testing.assert_index_equal(periods.index, MONTHS.index[84:89].to_period())
    numbers = monthly.predict(pd.Series(SEASONAL[:84], 10 * np.arange(84)))
    assert numbers.index.tolist() == [840, 850, 860, 870, 880]
    frame = monthly.predict(MONTHS[:84].to_frame())
    assert frame.columns.tolist() == ["sold"]
    assert frame.index.equals(MONTHS.index[84:89])


def test_few_dates_that_say_their_frequency():
    index = pd.date_range("2020-01-01", periods=3, freq="QS")
    found, frequency = _series._regular(index, None)
    assert found is index
    assert frequency == index.freqstr


def test_dates_without_a_frequency():
    days = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 40))
    y = pd.Series(np.sin(days), pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"))
    model = ShootingForecaster(**SMALL, history=3).fit(y)
    assert model._base is None, "uneven times have no autoregression"
    forecast = model.predict(y, at=[0.5, 1.0])
    assert (forecast.index - y.index[-1]).total_seconds().tolist() == [43200, 86400]


def test_files_keep_all_of_it(monthly, tmp_path):
    monthly.save(tmp_path / "m")
    again = ShootingForecaster.load(tmp_path / "m")
    pd.testing.assert_series_equal(again.predict(MONTHS), monthly.predict(MONTHS))
    for got, expected in zip(
        again.predict_interval(MONTHS), monthly.predict_interval(MONTHS), strict=True
    ):
        pd.testing.assert_series_equal(got, expected)


def test_intervals_hold_what_they_promise():
    """An autoregressive process, whose errors have a known spread at every step."""
    rng = np.random.default_rng(0)
    y = np.zeros(1500)
    for t in range(1, len(y)):
        y[t] = 0.8 * y[t - 1] + rng.normal()
    model = ShootingForecaster(**SMALL, history=3).fit(y[:250])
    past = np.stack([y[o - 3 : o] for o in range(250, 1495)])[:, :, None]
    truth = np.stack([y[o : o + 5] for o in range(250, 1495)])
    lower, upper = model.predict_interval(past, coverage=0.9)
    inside = (lower[..., 0] <= truth) & (truth <= upper[..., 0])
    assert abs(inside.mean() - 0.9) < 0.05
    spread = 1.645 * np.sqrt(np.cumsum(0.64 ** np.arange(5)))
    usual = np.median((upper - lower)[:, :, 0], axis=0) / 2  # wider after a restless past
    np.testing.assert_allclose(usual, spread, rtol=0.25)
    with pytest.raises(ValueError, match="up to `horizon` = 5"):
        model.predict_interval(past, steps=6)
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_interval(past, coverage=2)


def test_conformal_quantiles():
    errors = np.arange(1.0, 20.0).reshape(
        19, 1, 1
    )  # nineteen, so every twentieth falls between two
    spans = Spans.of(errors, np.ones(errors.shape, bool))
    assert spans.at(0.9, np.ones((1, 1))) == 18
    assert spans.at(0.9, np.full((1, 1), 0.5)) == 9  # halfway to the first step
    assert Spans.from_json(spans.to_json()).at(0.5, np.ones((1, 1))) == 10


def test_intervals_widen_with_the_roughness_of_the_past():
    rng = np.random.default_rng(0)
    size = np.repeat([1.0, 5.0], 500)  # a calm half and a restless one
    values = np.cumsum(size[:, None] * rng.normal(size=(1000, 30)), axis=1)[:, :, None]
    past = Sequences(values, np.ones(values.shape, bool), np.tile(np.arange(30.0), (1000, 1)))
    errors = size[:, None, None] * rng.normal(size=(1000, 1, 1))
    seen, steps = np.ones(errors.shape, bool), np.ones((1000, 1))
    for local, covered in ((0.0, 1.0), (1.0, 0.9)):  # of the calm half
        spans = Spans.of(errors, seen, past, local)
        half = Spans.from_json(spans.to_json()).at(0.9, steps, past)
        inside = np.abs(errors) <= half
        assert inside.mean() == pytest.approx(0.9, abs=0.01)
        assert inside[:500].mean() == pytest.approx(covered, abs=0.02)
    older = {name: spans.to_json()[name] for name in ("quantiles", "count")}
    assert Spans.from_json(older).at(0.9, steps, past).std() == 0
    flat = past._replace(values=np.zeros_like(values))
    assert (Spans.of(errors, seen, past, 0.9).at(0.9, steps, flat) > 0).all()


def test_the_share_of_the_net_is_what_held_out_windows_are_sure_of():
    rng = np.random.default_rng(0)
    net, seen, groups = rng.normal(size=(20, 3, 1)), np.ones((20, 3, 1), bool), np.arange(20) // 5
    assert share_of(0.7 * net, net, seen, groups) == pytest.approx(0.7)
    assert share_of(3 * net, net, seen, groups) == 1
    assert share_of(net, net, seen, np.zeros(20, int)) == 0  # one stretch tells nothing
    assert share_of(net * np.repeat([1, -1], 10)[:, None, None], net, seen, groups) == 0
    # Of two groups that ask for a and b, each of the same weight: the mean less t·|a - b|/2.
    net, groups = np.ones((2, 1, 1)), np.arange(2)
    asked = np.array([0.9, 0.8]).reshape(2, 1, 1)
    expected = 0.85 - stats.t.ppf(0.95, 1) * 0.05
    assert share_of(asked, net, seen[:2, :1], groups) == pytest.approx(expected)


def test_stretches_lie_a_horizon_apart():
    sequences = checked(np.zeros((2, 17, 1)), None, None)
    windows = cut(sequences, 3, 4)  # eleven origins each
    groups = stretches(windows, np.arange(22))
    for source in range(2):
        own = groups[windows.source == source][np.argsort(windows.origin[windows.source == source])]
        np.testing.assert_array_equal(own - 2 * source, [0] * 6 + [1] * 5)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b"] * 20,
        np.array(["1.5"] * 40),
        pd.Series(["a"] * 40),
        pd.DataFrame({"a": range(40), "b": ["x"] * 40}),
        pd.Series(pd.date_range("2020-01-01", periods=40)),
        np.ones(40) * 1j,
        [object()] * 40,
        [[1.0, 2.0], [1.0]],
    ],
    ids=["list", "numbers as text", "Series", "column", "dates", "complex", "objects", "ragged"],
)
def test_what_is_no_number_is_refused(values):
    with pytest.raises(ValueError, match=r"^A series must (hold|be)"):
        ShootingForecaster(horizon=2).fit(values)


def test_missing_values_of_pandas_are_missing_entries():
    from shootax.sklearn._series import taken

    values = pd.Series([1, None, 3], dtype="Int64")
    np.testing.assert_array_equal(taken(values, None, None)[0][0, :, 0], [1, np.nan, 3])
    np.testing.assert_array_equal(taken([1, None, 3], None, None)[0][0, :, 0], [1, np.nan, 3])


def test_between_steps():
    values = np.array([[[0.0], [2.0], [6.0]]])
    np.testing.assert_allclose(
        between(values, np.array([[0, 0.5, 1, 1.75, 2]]))[0, :, 0], [0, 1, 2, 5, 6]
    )


@pytest.mark.slow
def test_the_net_learns_what_no_autoregression_can():
    """The logistic map looks like noise to a linear model, and is known one step ahead."""
    y = np.empty(700)
    y[0] = 0.3
    for t in range(1, len(y)):
        y[t] = 3.8 * y[t - 1] * (1 - y[t - 1])
    options = {"history": 2, "horizon": 2, "season": 1, "max_iter": 150}
    model = ShootingForecaster(**options).fit(y[:600])
    assert model.network_share_ > 0.8
    alone = model._base._replace(share=0.0)
    assert model.score(y[600:]) > 0.9
    model._base = alone
    assert model.score(y[600:]) < 0.6


def test_dates_that_are_left_out_are_missing_entries(monthly):
    """The forecast is that of the series with NaN there."""
    past = MONTHS[:84]
    hole = past.drop(past.index[[40, 41, 70]])
    whole = past.where(past.index.isin(hole.index))
    X, times, _, form = _series.taken(hole, None, None)
    np.testing.assert_array_equal(X[0, :, 0], whole.to_numpy())
    assert times is None
    assert form.frequency == "MS"
    periods = hole.to_period("M")
    np.testing.assert_array_equal(_series.taken(periods, None, None)[0][0, :, 0], whole.to_numpy())
    with pytest.warns(UserWarning, match="Entries of X are missing"):
        found = monthly.predict(hole)
    with pytest.warns(UserWarning, match="Entries of X are missing"):
        pd.testing.assert_series_equal(found, monthly.predict(whole))


def test_a_mask_follows_the_dates():
    days = pd.Series(np.arange(12.0), pd.date_range("2024-01-01", periods=12)).drop("2024-01-09")
    seen = np.arange(11) != 2
    mask = _series.taken(days, None, seen)[2]
    np.testing.assert_array_equal(np.flatnonzero(~mask.reshape(-1)), [2, 8])


def test_uneven_dates_stay_as_they_are():
    dates = pd.Series(
        [1.0, 2.0, 3.0, 4.0],
        pd.to_datetime(["2024-01-01", "2024-01-02", "2024-02-20", "2024-07-01"]),
    )
    _, times, _, form = _series.taken(dates, None, None)
    np.testing.assert_array_equal(times, [0, 1, 50, 182])
    assert form.frequency is None


@pytest.mark.parametrize("index", [slice(None, None, -1), [0, 1, 1, 2]])
def test_dates_out_of_order_are_refused(index):
    """A series backwards would be forecast into its past."""
    with pytest.raises(ValueError, match=r"must increase.*sort_index"):
        ShootingForecaster(**SMALL).fit(MONTHS.iloc[index])


def test_years_that_are_left_out_are_missing_entries():
    years = pd.Series(np.arange(20.0), np.arange(1950, 1990, 2))
    found = _series.taken(years.drop(1960), None, None)[0][0, :, 0]
    np.testing.assert_array_equal(found, years.where(years.index != 1960).to_numpy())
    for index in (years.index[::-1], np.r_[1950:1969, 1960]):
        with pytest.raises(ValueError, match=r"must increase.*sort_index"):
            _series.taken(years.set_axis(index), None, None)
    uneven = pd.Series(np.arange(4.0), [1, 2, 100, 5000])
    np.testing.assert_array_equal(_series.taken(uneven, None, None)[0][0, :, 0], uneven)
