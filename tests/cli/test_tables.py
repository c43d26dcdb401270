"""`shootax fit`, `predict` and `info`: a table in, a model, a table out; and what goes wrong."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import shootax as sx
from cases import rewrite_header
from shootax.cli import fit as fit_command
from shootax.sklearn import ShootingClassifier, ShootingRegressor
from shootax.sklearn import _columns as columns
from shootax.sklearn import _saving as saving

pytestmark = pytest.mark.usefixtures("standard_promotion")

RNG = np.random.default_rng(0)
QUICK = ("--epochs", "3", "--particles", "2")


def table(rows=80):
    frame = pd.DataFrame(
        {
            "size": RNG.normal(50, 10, rows).round(2),
            "colour": RNG.choice(["red", "green", "blue"], rows),
            "age": RNG.integers(1, 80, rows).astype(float),
            "new": RNG.random(rows) > 0.5,
        }
    )
    frame["price"] = 2 * frame["size"] + 20 * (frame.colour == "red") + 5 * frame.new
    frame.loc[3, "age"] = np.nan
    frame.loc[5, "colour"] = None
    return frame


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a table."""
    monkeypatch.chdir(tmp_path)
    table().to_csv("data.csv", index=False)
    return tmp_path


@pytest.mark.slow
def test_as_a_user_runs_it(here):
    """Fit, predict for another file of another kind, and information, in processes of their own."""
    command = Path(sys.executable).with_name("shootax")

    def do(*arguments):
        done = subprocess.run([command, *arguments], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    said = do("fit", "data.csv", "--target", "price", "--out", "m.safetensors", "--epochs", "60")
    assert "price: numbers, from 4 columns (9 numbers), 80 rows." in said
    new = table(30)
    new.drop(columns="price")[["new", "age", "size", "colour"]].to_parquet("new.parquet")
    do("predict", "m.safetensors", "new.parquet", "--out", "out.csv")
    predicted = pd.read_csv("out.csv")
    assert list(predicted.columns) == ["price"]
    errors = predicted["price"] - new["price"]
    assert np.mean(errors**2) < 0.2 * new["price"].var()
    facts = json.loads(do("info", "m.safetensors", "--json"))
    model = ShootingRegressor.load("m.safetensors")
    assert facts["estimator"] == "ShootingRegressor"
    assert facts["parameters"] == model.n_parameters_
    assert facts["epochs"] == model.n_iter_
    assert facts["energy"] == pytest.approx(model.energy_, rel=1e-4)
    assert facts["complexity_log2_frobenius"] == pytest.approx(model.complexity_, rel=1e-3)
    assert "colour (3 levels, may be missing)" in facts["columns"]


def test_classes(shootax, here):
    frame = pd.read_csv("data.csv")
    frame["big"] = np.where(frame["size"] > 50, "yes", "no")
    frame.to_csv("data.csv", index=False)
    arguments = ("--target", "big", "--ignore", "price", "--epochs", 40, "--particles", 2)
    code, said, _ = shootax("fit", "data.csv", *arguments, "--out", "m", "--weight", "age")
    assert "must be numbers of at least 0, none missing" in code
    code, said, _ = shootax("fit", "data.csv", *arguments, "--out", "m")
    assert code == 0, said
    assert "big: 2 classes" in said
    code, said, notes = shootax("predict", "m", "data.csv", "--keep")
    (here / "out.csv").write_text(said)
    out = pd.read_csv("out.csv")
    assert list(out.columns)[-3:] == ["predicted big", "probability of no", "probability of yes"]
    assert (out["predicted big"] == frame["big"]).mean() > 0.8
    assert notes == ""


def test_information_about_a_plain_net(shootax, here):
    import jax

    sx.save("net", sx.Net(sx.Affine(2), particles=2, key=jax.random.key(0)), record={"seed": 7})
    code, said, _ = shootax("info", "net")
    assert code == 0
    for word in ("Affine", "Particles", "RK4", "complexity", "seed"):
        assert word in said
    code, _, _ = shootax("predict", "net", "data.csv")
    assert "holds a net, but no estimator" in code


WRONG = {
    "no such file": (None, ("no.csv", "--target", "y"), "There is no file no.csv"),
    "no such target": (None, ("--target", "cost"), "There is no column 'cost' for --target"),
    "no such column": (None, ("--target", "price", "--ignore", "x"), "There is no column 'x' to"),
    "empty file": ("", ("--target", "y"), "cannot be read as a table"),
    "no rows": ("x,y\n", ("--target", "y"), "has no rows below its column names"),
    "ragged": ("x,y\n1,2\n1,2,3\n", ("--target", "y"), "cannot be read as a table"),
    "text in numbers": ("x,y\n1,2\n2,3\nabc,4\n5,6\n", ("--target", "y"), "row 3 has 'abc'. Corr"),
    "text in the target": ("x,y\n1,2\n2,3\n4,o\n5,6\n", ("--target", "y"), "row 3 has 'o'. Corr"),
    "no target": ("x,y\n1,2\n2,\n3,4\n", ("--target", "y"), "missing in 1 of 3 rows, the first of "
                  "them row 2. Remove"),
    "one class": ("x,y\n1,a\n2,a\n3,a\n", ("--target", "y"), "has only one class, 'a'"),
    "only a target": ("y\n1\n2\n", ("--target", "y"), "has no columns left"),
    "an empty column": ("x,z,y\n1,,2\n2,,3\n", ("--target", "y"), "'z' is empty. Leave it out with --ig"),
    "infinity": ("x,y\n1,2\ninf,3\n", ("--target", "y"), "'x' has infinity in row 2"),
    "names of rows": ("x,y\n" + "".join(f"n{i},{i}\n" for i in range(60)), ("--target", "y"),
                      "no columns left to predict 'y' from: 'x' is left out: its text is different"),
    "too many names": ("x,y\n" + "".join(f"n{i % 60},{i}\n" for i in range(90)), ("--target", "y"),
                       "60 different entries, such as 'n0', but a column can have at most 50"),
    "an infinite target": ("x,y\n1,2\n2,inf\n", ("--target", "y"), "'y' has infinity in row 2"),
    "same names": ("x,x,y\n1,2,3\n2,3,4\n", ("--target", "y"), "several columns are called 'x'"),
    "entries without a name": ("x,y\n1,2,3\n4,5,6\n", ("--target", "y"), "more entries than there"),
    "several mistakes": (
        "a,b,c,y\n1,,inf,2\n2,,3,3\nno,,4,x\n3,,5,4\n", ("--target", "y"),
        "Column 'y' should hold numbers, but row 3 has 'x'. Correct it, or leave it empty if it is "
        "unknown. If the column holds categories, fit with --categorical y; Column 'a' should hold"
        " numbers, but row 3 has 'no'"),
    "several names": (None, ("--target", "cost", "--ignore", "x", "--keep", "w"), "no column 'cost' "
                      "for --target in data.csv, nor 'x' to --ignore, nor 'w' to --keep; the table"),
    "kept and left out": (None, ("--target", "price", "--ignore", "age", "--keep", "age"), "'age' is "
                          "given to --ignore and also to --keep"),
    "days or months": ("d,y\n01/02/2024,1\n03/04/2024,2\n", ("--target", "y"),
                       "day and month cannot be told apart"),
    "a bad date": ("d,y\n2024-01-02,1\n2024-13-02,2\n2024-01-04,3\n", ("--target", "y"),
                   "should hold dates, but row 2 has '2024-13-02'"),
    "one row": ("x,y\n1,2\n", ("--target", "y"), "n_samples = 1"),
    "an unknown task": ("x,y\n1,2\n", ("--target", "y", "--task", "magic"), "--task must be one of"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_mistakes_when_fitting(shootax, here, name):
    """One line says what is wrong, and the model that was there before stays."""
    text, arguments, message = WRONG[name]
    (here / "model.safetensors").write_text("the old model")
    if text is not None:
        (here / "data.csv").write_text(text)
    data = () if arguments[0].endswith(".csv") else ("data.csv",)
    code, said, _ = shootax("fit", *data, *arguments)
    assert isinstance(code, str), said
    assert code.startswith("shootax: ")
    assert message in code
    assert "\n" not in code
    assert (here / "model.safetensors").read_text() == "the old model"
    assert sorted(path.name for path in here.iterdir()) == ["data.csv", "model.safetensors"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A model of `size`, `colour`, `age` and `new`."""
    import jax

    folder = tmp_path_factory.mktemp("model")
    table().to_csv(folder / "data.csv", index=False)
    with jax.numpy_dtype_promotion("standard"):
        fit_command.run(
            folder / "data.csv", "price", folder / "m", task="auto", ignore=[], categorical=[],
            weight=None, options={"max_iter": 3, "particles": 2},
        )  # fmt: skip
    return folder / "m"


GOOD = "size,colour,age,new\n50,red,7,True\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("size,age,new\n50,7,True\n", "lacks the columns 'colour' that the model was fitted with"),
        ("size,colour,age,new\nlarge,red,7,True\n", "should hold numbers, but row 1 has 'large'"),
        ("size,colour,age,new\n", "has no rows"),
        (None, "There is no file new.csv"),
    ],
)
def test_mistakes_when_predicting(shootax, here, model, text, message):
    (here / "out.csv").write_text("the old predictions")
    if text is not None:
        (here / "new.csv").write_text(text)
    code, _, _ = shootax("predict", model, "new.csv", "--out", "out.csv")
    assert message in code
    assert (here / "out.csv").read_text() == "the old predictions"


def test_what_the_model_does_not_know_is_noted(shootax, here, model):
    (here / "new.csv").write_text("size,colour,age,new\n50,pink,7,True\n,red,,False\n")
    code, said, notes = shootax("predict", model, "new.csv")
    assert code == 0
    assert len(said.splitlines()) == 3
    assert "such as 'pink' in row 1; they are treated as no known category" in notes
    assert "column 'size' has missing entries (the first in row 2)" in notes
    assert "'age'" not in notes  # it was missing in training, too


def test_models_of_other_versions_and_no_models(shootax, here, model):
    (here / "new.csv").write_text(GOOD)
    other = here / "other"
    other.write_bytes(model.read_bytes())
    rewrite_header(other, format="99", version="9.9.9")
    for command in (("predict", other, "new.csv"), ("info", other)):
        code, _, _ = shootax(*command)
        assert "has format 99, written by shootax 9.9.9; this version reads up to format 2" in code
    record = sx.load_record(model)
    del record["version"]
    record["estimator"]["format"] = 7
    other.write_bytes(model.read_bytes())
    rewrite_header(other, record=json.dumps(record), version="9.9.9")
    code, _, _ = shootax("predict", other, "new.csv")
    assert "written by shootax 9.9.9 with estimator format 7" in code
    code, _, _ = shootax("info", "new.csv")
    assert "is not a model file" in code


def test_places_that_cannot_be_written_to_are_refused_before_the_work(shootax, here, model):
    for out, message in (("no/m", "There is no folder"), (".", "is a folder")):
        code, _, _ = shootax("fit", "data.csv", "--target", "price", "--out", out)
        assert message in code
        code, _, _ = shootax("predict", model, "data.csv", "--out", out)
        assert message in code


def test_an_interrupted_write_leaves_the_old_file(here, monkeypatch):
    """The disk is full in the middle of the new file."""
    from shootax.cli import tables

    def fail(self, data):
        with open(self, "wb") as file:
            file.write(data[:1])
        raise OSError("No space left on device")

    (here / "out.csv").write_text("old")
    monkeypatch.setattr(Path, "write_bytes", fail)
    with pytest.raises(OSError, match="No space left"):
        tables.write(pd.DataFrame({"a": [1]}), here / "out.csv")
    assert (here / "out.csv").read_text() == "old"
    assert not list(here.glob("*.part"))


def test_columns_by_hand():
    frame = pd.DataFrame({"n": [1.0, np.nan, 3.0], "c": ["a", "b", None], "k": [1, 2, 1]})
    known = columns.learn(frame, ["k"])
    assert columns.from_json(json.loads(json.dumps(columns.to_json(known)))) == known
    values, notes = columns.encode(frame, known)
    expected = [
        [1, 0, 1, 0, 0, 1, 0],  # n, n missing, c = a, c = b, c missing, k = 1, k = 2
        [2, 1, 0, 1, 0, 0, 1],
        [3, 0, 0, 0, 1, 1, 0],
    ]
    np.testing.assert_array_equal(values, expected)
    assert notes == []
    assert sum(column.width for column in known) == 7
    # A column of whole numbers with a hole is read as one of fractions: the levels are the same.
    again, _ = columns.encode(frame.assign(k=[1.0, 2.0, np.nan]), known)
    np.testing.assert_array_equal(again[:2], values[:2])


def test_whole_numbers_may_be_classes(shootax, here):
    frame = pd.read_csv("data.csv")
    frame["stars"] = (frame["size"] > 50).astype(int) + 1
    frame.to_csv("data.csv", index=False)
    code, said, _ = shootax("fit", "data.csv", "--target", "stars", "--out", "m", *QUICK)
    assert code == 0
    assert "If they are classes, use --task classification" in " ".join(said.split())
    code, _, _ = shootax(
        "fit", "data.csv", "--target", "stars", "--out", "m", "--task", "classification", *QUICK
    )
    assert code == 0
    model = saving.load("m", ShootingClassifier)
    assert model.classes_.tolist() == [1, 2]


def test_the_score_on_held_out_rows_is_told(here, shootax):
    code, said, _ = shootax("fit", "data.csv", "--target", "price", *QUICK)
    assert code == 0
    model = ShootingRegressor.load("model.safetensors")
    assert f"R² {model.best_validation_score_:.3f} on the 10% of the rows held out" in " ".join(
        said.split()
    )


def test_progress_is_shown_in_a_terminal(here, shootax, monkeypatch):
    seen = []

    def fit(*args, progress, **options):
        seen.append(progress)
        return original(*args, progress=False, **options)

    original = sx.fit
    monkeypatch.setattr(sx, "fit", fit)
    shootax("fit", "data.csv", "--target", "price", *QUICK)
    ShootingRegressor(max_iter=1, particles=2).fit(RNG.normal(size=(20, 2)), RNG.normal(size=20))
    assert seen == [None, False]  # a bar where stderr is a terminal, and none
