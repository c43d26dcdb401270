"""Times of series: the index of pandas objects, dates, durations and numbers."""

import datetime

import numpy as np
import pandas as pd
import pytest

from shootax.sklearn import ShootingForecaster, _moments, _series, _windows

pytestmark = pytest.mark.usefixtures("standard_promotion")

SMALL = {"width": 4, "particles": 2, "depth": 2, "max_iter": 2, "horizon": 2, "history": 3}
VALUES = np.sin(0.7 * np.arange(24)) + np.arange(24) / 10
NOON = datetime.datetime(2020, 3, 28, 12)


def times_of(index, **options):
    """The times that a series with this index has, and its form."""
    _, times, _, form = _series.taken(pd.Series(VALUES[: len(index)], index), None, None, **options)
    return times, form


@pytest.mark.parametrize(
    ("index", "later"),
    [
        (pd.Index(0.25 * np.arange(24)), [6.0, 6.25]),
        (pd.Index(0.1 * np.arange(24) + 1e6), [1e6 + 2.4, 1e6 + 2.5]),
        (pd.timedelta_range("0s", periods=24, freq="15min"), pd.to_timedelta([360, 375], "min")),
        (pd.Index(range(10, 82, 3)), [82, 85]),
    ],
    ids=["floats", "large floats", "durations", "integers"],
)
def test_even_numbers_and_durations_are_continued(index, later):
    times, form = times_of(index)
    assert times is None
    found = form.back(np.zeros((1, 2, 1)), np.array([1.0, 2.0]), True).index
    assert type(found) is type(pd.Index(later))
    np.testing.assert_allclose(np.asarray(found, float), np.asarray(pd.Index(later), float))
    # What an even index skips is missing.
    series = pd.Series(VALUES, index).drop(index[5])
    values, times, _, form = _series.taken(series, None, None)
    assert times is None
    np.testing.assert_array_equal(np.isnan(values[0, :, 0]), np.arange(24) == 5)
    np.testing.assert_allclose(np.asarray(form.index, float), np.asarray(index, float))


def test_an_uneven_index_gives_the_times():
    t = np.cumsum(np.random.default_rng(0).uniform(0.5, 3, 24))
    for index, unit in (
        (pd.Index(t), 1),
        (pd.Index(t * 1000).astype(int), 1000),
        (pd.to_timedelta(t, "h"), 1 / 24),
        (pd.Timestamp("2020") + pd.to_timedelta(t, "h"), 1 / 24),
    ):
        times, form = times_of(index)
        assert times is not None
        np.testing.assert_allclose(times, (t - t[0]) * unit, atol=unit)
        np.testing.assert_allclose(np.diff(times), np.diff(t) * unit, atol=2e-3 * unit)
        found = form.back(np.zeros((1, 1, 1)), np.array([2 * unit]), False).index
        expected = index[-1] + (pd.Timedelta(hours=2) if unit < 1 else 2 * unit)
        assert abs(found[0] - expected) <= abs(expected - index[-1]) * 1e-6


def test_a_model_of_uneven_times_keeps_their_unit():
    """Even hours are hours, not steps, for a model that was fitted to uneven dates."""
    hours = pd.date_range("2020", periods=6, freq="h")
    assert times_of(hours)[0] is None
    times, form = times_of(hours, uneven=True)
    np.testing.assert_allclose(times, np.arange(6) / 24)
    assert form.frequency is None
    np.testing.assert_allclose(times_of(pd.Index([0.5, 1.0, 1.5]), uneven=True)[0], [0, 0.5, 1.0])


def test_dates_of_python_are_dates():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days=i) for i in range(8)]
    assert times_of(pd.Index(days))[1].frequency == "D"
    with pytest.warns(UserWarning, match=r"text, such as '2020-01-01'.*pd.to_datetime"):
        times_of(pd.Index([str(day) for day in days]))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (np.array(["2020-01-01", "2020-01-03"], "M8[ns]"), [0, 2]),
        (np.array(["2020-01", "2020-02"], "M8[M]"), [0, 31]),
        (pd.date_range(NOON, periods=2, freq="D", tz="Europe/Berlin"), [0, 23 / 24]),
        ([NOON, NOON + datetime.timedelta(hours=6)], [0, 0.25]),
        ([datetime.timedelta(hours=6), datetime.timedelta(days=1)], [0.25, 1]),
        (np.array([6, 24], "m8[h]"), [0.25, 1]),
        ([3, 4.5], [3, 4.5]),
    ],
)
def test_dates_and_durations_count_in_days(times, expected):
    np.testing.assert_allclose(_moments.of(times), expected)


def test_other_times_are_refused():
    aware = NOON.replace(tzinfo=datetime.UTC)
    for wrong, message in (
        (["noon", "night"], "numbers, dates or durations"),
        ([NOON, aware], "mixes kinds of entries"),
        ([pd.Timestamp("2020"), pd.NaT], "missing ones"),
    ):
        with pytest.raises(ValueError, match=message):
            _moments.of(wrong)
    for wrong in ([NOON], np.array([1], "m8[h]"), ["1"]):
        with pytest.raises(ValueError, match="at must be numbers"):
            _windows.moments(1, None, wrong, 5, 1.0)


def test_steps_of_another_length_give_a_warning():
    days = pd.date_range("2020", periods=24)
    model = ShootingForecaster(**SMALL).fit(pd.Series(VALUES, days))
    with pytest.warns(UserWarning, match="'D', which is 1 days"):
        model.predict(pd.Series(VALUES, pd.date_range("2020", periods=24, freq="h")))
    for index in (days, days.to_period(), days.tz_localize("UTC")):
        model.predict(pd.Series(VALUES, index))  # no warning, which would be an error
    _moments.check_frequency(pd.period_range("2020", periods=5, freq="M"), "MS")


def test_columns_must_be_those_of_the_fit():
    frame = pd.DataFrame({"a": VALUES, "b": -2 * VALUES})
    model = ShootingForecaster(**SMALL).fit(frame)
    expected = model.predict(frame).to_numpy()
    for wrong in (frame[["b", "a"]], frame.rename(columns={"b": "c"})):
        for use in (model.predict, model.score):
            with pytest.raises(ValueError, match=r"fitted with \['a', 'b'\]"):
                use(wrong)
    np.testing.assert_array_equal(model.predict(frame.to_numpy()[None])[0], expected)
    model.fit(pd.DataFrame(frame.to_numpy()))
    assert not hasattr(model, "feature_names_in_")


def test_masked_entries_are_missing():
    hidden = np.arange(24) == 7
    values = _series.taken(np.ma.array(VALUES, mask=hidden), None, None)[0]
    np.testing.assert_array_equal(np.isnan(values[0, :, 0]), hidden)
