"""Columns as numbers: dates, large integers, and columns that have nothing to say."""

import datetime
import json

import numpy as np
import pandas as pd
import pytest

from shootax.sklearn import _columns as columns
from shootax.sklearn import _dates as dates
from shootax.sklearn._screening import screen


def encoded(frame, **options):
    known = columns.learn(frame, **options)
    values, notes = columns.encode(
        frame, columns.from_json(json.loads(json.dumps(columns.to_json(known))))
    )
    assert values.shape[1] == sum(column.width for column in known)
    assert not notes
    return known, values


DAYS = pd.date_range("2023-11-06 06:00", periods=80, freq="9h")  # from a Monday


def test_dates_by_hand():
    known, values = encoded(pd.DataFrame({"when": DAYS}))
    assert known[0].kind == "date"
    assert known[0].calendar.circles == ["month", "day of year", "weekday", "hour"]
    line, year, *circles = values.T
    np.testing.assert_allclose(np.diff(line), 9 / 24 / 365.2425, rtol=1e-6)
    assert line.mean() == pytest.approx(0, abs=1e-9)
    assert set(year) == {2023}
    month, day, weekday, hour = np.reshape(circles, (4, 2, -1))
    np.testing.assert_allclose(month[:, 0], np.sin([20 / 12 * np.pi, 13 / 6 * np.pi]), atol=1e-12)
    np.testing.assert_allclose(
        day[:, 0], [np.sin(309 / 365 * 2 * np.pi), np.cos(309 / 365 * 2 * np.pi)]
    )
    np.testing.assert_allclose(weekday[:, 0], [0, 1], atol=1e-12)
    np.testing.assert_allclose(hour[:, 0], [1, 0], atol=1e-12)
    np.testing.assert_allclose(np.hypot(*np.reshape(circles, (4, 2, -1)).transpose(1, 0, 2)), 1)


@pytest.mark.parametrize(
    "form",
    ["%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%SZ", "%Y/%m/%d %H:%M", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M",
     "%d/%m/%Y %H:%M"],
)  # fmt: skip
def test_text_and_moments_are_the_same_dates(form):
    moments, text = pd.DataFrame({"d": DAYS}), pd.DataFrame({"d": DAYS.strftime(form)})
    known, values = encoded(text)
    np.testing.assert_allclose(values, encoded(moments)[1], rtol=1e-12, atol=1e-12)
    # A model of one kind of file takes the other.
    np.testing.assert_allclose(columns.encode(moments, known)[0], values, atol=1e-12)
    iso = pd.DataFrame({"d": DAYS[:1].strftime("%Y-%m-%d %H:%M")})
    np.testing.assert_allclose(columns.encode(iso, known)[0], values[:1], atol=1e-12)


def test_days_of_parquet_time_zones_and_missing_dates():
    days = [datetime.date(2024, 2, 28), None, datetime.date(2024, 3, 1)]
    known, values = encoded(pd.DataFrame({"d": pd.Series(days, dtype=object)}))
    assert known[0].missing
    assert "hour" not in known[0].calendar.circles
    assert values[1].tolist() == [0, 2024, *[0] * (values.shape[1] - 3), 1]
    np.testing.assert_allclose(values[2, 0] - values[0, 0], 2 / 365.2425)
    zoned = pd.DataFrame({"d": pd.Series(["2024-02-28T01:00+01:00", None, "2024-03-01"])})
    np.testing.assert_allclose(encoded(zoned)[1][[0, 2], 0], values[[0, 2], 0], atol=1e-12)


def test_dates_far_away():
    """Moments in nanoseconds end in 2262, but tables mark open ends by a date such as 9999-12-31."""
    days = np.array(["9999-12-31", "2020-01-01", "2020-01-02"], "M8[s]")
    _, values = encoded(pd.DataFrame({"d": pd.Series(days)}))
    assert values[:, 1].tolist() == [9999, 2020, 2020]
    np.testing.assert_allclose(values[2, 0] - values[1, 0], 1 / 365.2425, rtol=1e-6)


def test_a_date_in_another_form_is_told_which_is_right():
    known, _ = encoded(pd.DataFrame({"d": DAYS.strftime("%d.%m.%Y")}))
    with pytest.raises(ValueError, match=r"row 1 has '01/31/2020'.*%d\.%m\.%Y.* or as 2024-12-31"):
        columns.encode(pd.DataFrame({"d": ["01/31/2020"]}), known)


@pytest.mark.parametrize("kind", ["string", "category", object])
def test_missing_text_is_no_category(kind):
    frame = pd.DataFrame({"c": pd.Series(["x", None, "y"], dtype=kind)})
    assert encoded(frame)[1].tolist() == [[1, 0, 0], [0, 0, 1], [0, 1, 0]]


def test_what_is_no_date():
    for entries in (
        ["12", "20240131"] * 10,
        ["May", "a"] * 10,
        ["1.5.2", "2.0.1"] * 10,
        [1.0, 2.0],
    ):
        assert dates.learn(pd.Series(entries, name="x")) is None


def test_large_integers_keep_what_tells_them_apart():
    large = 2**60 + np.arange(50)
    known, values = encoded(pd.DataFrame({"x": large}))
    np.testing.assert_array_equal(values[:, 0], np.arange(50))
    holes = pd.DataFrame({"x": pd.array([2**60, None, 2**60 + 1], dtype="Int64")})
    np.testing.assert_array_equal(columns.encode(holes, known)[0][[0, 2], 0], [0, 1])
    wide = pd.DataFrame({"x": np.array([-(2**63), 0, 2**63 - 1])})
    np.testing.assert_array_equal(encoded(wide)[1][:, 0], [0.0, 2.0**63, 2.0**64])
    unsigned = pd.DataFrame({"x": np.array([2**64 - 2, 2**64 - 1], np.uint64)})
    np.testing.assert_array_equal(encoded(unsigned)[1][:, 0], [0, 1])


def test_the_largest_floats_have_a_mean():
    known, _ = encoded(pd.DataFrame({"x": [1.7e308, 1.7e308, 1.6e308, None]}))
    assert known[0].mean == pytest.approx(1.6666e308, rel=1e-3)


def test_columns_of_older_files_are_read():
    old = {"name": "x", "levels": None, "mean": 1.0, "missing": False}
    (column,) = columns.from_json([old])
    assert column == columns.Column("x", None, 1.0, False, 0, None)


N = 30
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "Unnamed: 0": RNG.permutation(N),
        "size": RNG.normal(size=N),
        "name": [f"person {i}" for i in range(N)],
        "same": 3,
        "year": np.arange(1990, 1990 + N),
        "when": DAYS[:N].strftime("%Y-%m-%d %H:%M"),
        "colour": ["red", "green", "blue"] * 10,
        "holes": [1.0, None] * 15,
        "count": RNG.permutation(N),
    }
)


def test_useless_columns_are_left_out_and_told():
    used, notes = screen(FRAME)
    assert used == ["size", "year", "when", "colour", "holes", "count"]
    told = "; ".join(notes)
    assert (
        "'Unnamed: 0' is left out: it holds row numbers and has no name (use it with --keep 'Unnamed: 0'"
        in told
    )
    assert "'name' is left out: its text is different in every row" in told
    assert "'same' is left out: it has the same entry in every row" in told
    assert "'year' counts up by one from row to row and is used as a number (if it is a row" in told
    assert len(notes) == 4


def test_useless_columns_can_be_kept():
    keep = ["Unnamed: 0", "name", "same", "year"]
    assert screen(FRAME, keep=keep) == (list(FRAME.columns), [])
    assert "name" in screen(FRAME, categorical=["name"]).used
    many = pd.DataFrame({"name": [f"n{i}" for i in range(60)]})
    with pytest.raises(ValueError, match="60 different entries"):
        columns.learn(many)
    assert columns.learn(many, keep=["name"])[0].width == 60


def test_few_rows_may_be_different_by_chance():
    assert screen(FRAME[["name", "count"]][:5]).used == ["name", "count"]
