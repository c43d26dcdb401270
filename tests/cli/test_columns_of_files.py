"""From files of any kind to the same model: separators, dates, weights, and notes about columns."""

import numpy as np
import pandas as pd
import pytest

import shootax as sx
from shootax.cli import tables
from shootax.sklearn import ShootingRegressor
from shootax.sklearn import _columns as columns

pytestmark = pytest.mark.usefixtures("standard_promotion")

QUICK = ("--epochs", "2", "--particles", "2")
RNG = np.random.default_rng(0)
N = 40
FRAME = pd.DataFrame(
    {
        "size": RNG.normal(size=N).round(3),
        "when": pd.date_range("2023-01-01", periods=N, freq="17h"),
        "name": [f"person {i}" for i in range(N)],
        "one": 1,
        "weight": RNG.uniform(0.1, 5, N).round(2),
    }
)
FRAME["price"] = FRAME["size"] * 3 + FRAME.when.dt.day_of_week


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("d.csv")  # with its index
    return tmp_path


def learned(path):
    return columns.from_json(sx.load_record(path)["table"]["columns"])


def test_decisions_about_columns_are_told_at_once(shootax, here):
    arguments = ("fit", "d.csv", "--target", "price", "--out", "m", *QUICK)
    code, _, notes = shootax(*arguments, "--ignore", "weight")
    assert code == 0
    assert len(notes.splitlines()) == 1
    for part in ("'Unnamed: 0' is left out", "'name' is left out", "'one' is left out",
                 "'when' is read as dates"):  # fmt: skip
        assert part in notes
    assert [column.name for column in learned("m")] == ["size", "when"]
    code, _, notes = shootax(*arguments, "--keep", "Unnamed: 0", "--keep", "one")
    assert code == 0
    assert [c.name for c in learned("m")] == ["Unnamed: 0", "size", "when", "one", "weight"]


def test_dates_are_the_same_in_csv_and_parquet(shootax, here):
    FRAME.to_parquet("d.parquet")
    predictions = []
    for data in ("d.csv", "d.parquet"):
        code, _, _ = shootax("fit", data, "--target", "price", "--out", "m", *QUICK)
        assert code == 0
        for other in ("d.csv", "d.parquet"):
            assert shootax("predict", "m", other, "--out", "p.csv")[0] == 0
            predictions.append(pd.read_csv("p.csv")["price"])
    for other in predictions[1:]:
        np.testing.assert_allclose(other, predictions[0], rtol=1e-6)


def test_weights_of_the_command_line_are_those_of_the_estimator(shootax, here):
    arguments = ("fit", "d.csv", "--target", "price", "--out", "m", *QUICK)
    assert shootax(*arguments, "--weight", "weight")[0] == 0
    x, _ = columns.encode(tables.read(here / "d.csv"), learned("m"))
    assert [column.name for column in learned("m")] == ["size", "when"]
    options = {"max_iter": 2, "particles": 2, "random_state": 0}
    weighted, plain = (
        ShootingRegressor(**options).fit(x, FRAME.price, sample_weight=weight).predict(x)
        for weight in (FRAME.weight, None)
    )
    np.testing.assert_array_equal(ShootingRegressor.load("m").predict(x), weighted)
    assert not np.allclose(weighted, plain)


def test_a_number_that_is_too_large_is_told_with_its_column(shootax, here):
    assert shootax("fit", "d.csv", "--target", "price", "--out", "m", *QUICK)[0] == 0
    changed = FRAME.copy()
    changed.loc[4, "size"] = 1e300
    changed.to_csv("new.csv", index=False)
    code, _, _ = shootax("predict", "m", "new.csv")
    assert "Column 'size' has 1e+300 in row 5, which is too far" in code


def test_large_targets_are_fitted(shootax, here):
    FRAME.assign(price=np.where(FRAME["size"] > 0, 1.7e308, -1.7e308)).to_csv("d.csv")
    code, said, _ = shootax("fit", "d.csv", "--target", "price", "--out", "m", *QUICK)
    assert code == 0
    assert "nan" not in said


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        ("a,b\n1.5,x\n2,y\n", ","),
        ("a;b\n1,5;x\n2;y\n", ";"),
        ("a\tb\n1.5\tx\n2\ty\n", "\t"),
        ('"a";"b"\n1.5;"x"\n2;"y"\n', ";"),
        ("\ufeffa;b\n1.5;x\n2;y\n", ";"),
    ],
)
def test_separators_are_recognised(tmp_path, text, separator):
    (tmp_path / "t.csv").write_text(text, encoding="utf-8")
    table = tables.read(tmp_path / "t.csv")
    assert table.to_dict("list") == {"a": [1.5, 2.0], "b": ["x", "y"]}


def test_names_with_commas_do_not_deceive(tmp_path):
    (tmp_path / "t.csv").write_text("price (net, in €);size\n1;2\n3;4\n", encoding="utf-8")
    assert list(tables.read(tmp_path / "t.csv").columns) == ["price (net, in €)", "size"]
    (tmp_path / "t.csv").write_text("a\n1\n2\n")
    assert tables.read(tmp_path / "t.csv")["a"].tolist() == [1, 2]


def test_large_integers_beside_holes_are_read_exactly(tmp_path):
    (tmp_path / "t.csv").write_text(f"a,b\n{2**60 + 1},1\n,2\n{2**60 + 2},3\n")
    read = tables.read(tmp_path / "t.csv")["a"]
    assert [int(read[0]), int(read[2])] == [2**60 + 1, 2**60 + 2]
    assert read.isna().tolist() == [False, True, False]


def test_an_index_with_a_name_is_a_column_and_others_are_dropped(tmp_path):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 7], name="key"))
    frame.to_parquet(tmp_path / "t.parquet")
    assert tables.read(tmp_path / "t.parquet").to_dict("list") == {"key": [7, 7], "a": [1, 2]}
    frame.rename_axis(None).to_parquet(tmp_path / "t.parquet")
    table = tables.read(tmp_path / "t.parquet")
    assert list(table.columns) == ["a"]
    assert table.index.tolist() == [0, 1]


def test_a_spreadsheet_is_refused_by_name(tmp_path):
    (tmp_path / "t.xlsx").write_bytes(b"PK")
    with pytest.raises(ValueError, match="Save it as CSV or Parquet"):
        tables.read(tmp_path / "t.xlsx")
