"""The commands `reproduce` and `plot`."""

import json

import pytest
from test_commands import run

import shootax as sx
from shootax.cli.reproduce import _median
from shootax.paper import COLLECTIONS

ENTRIES = [
    *("experiment", "preset", "formulation", "inflation", "particles", "seed", "parameters"),
    *("test_mse", "penalty", "complexity_log2_frobenius", "complexity_log2_nuclear"),
    *("complexity_log2_spectral", "hamiltonian_drift", "seconds", "status"),
]


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, None, 9.0, 2.0], "2"),
        ([0.123456], "0.1235"),
        ([True, False, True, True], "75%"),
        ([None], "–"),
        ([], "–"),
    ],
)
def test_what_the_table_shows_of_several_seeds(values, shown):
    assert _median(values) == shown


def reproduced(tmp_path, name, *arguments):
    out = tmp_path / "out"
    done = run("reproduce", name, "--preset", "smoke", "--out", str(out), *arguments, timeout=900)
    assert done.returncode == 0, done.stderr
    runs = json.loads((out / "results.json").read_text())
    for each in runs:
        assert set(ENTRIES) <= set(each)
        assert each["status"] == "ok", each["reason"]
        moving = each["formulation"] == "dynamic-particles"
        assert (each["hamiltonian_drift"] is not None) == moving
    return out, runs, done.stdout


def check_figures(out, names):
    for name in names:
        assert (out / "figures" / f"{name}.png").stat().st_size > 5_000
        assert (out / "figures" / f"{name}.svg").read_text().lstrip().startswith("<?xml")


@pytest.mark.slow
def test_circles(tmp_path):
    out, runs, text = reproduced(tmp_path, "circles", "--inflation", "2")
    assert len(runs) == 4  # two seeds, two weights
    assert {run["data_weight"] for run in runs} == {100.0, 3.0}
    for each in runs:
        assert each["success"] == (each["train_accuracy"] == 1.0)
    assert "[4/4]" in text  # plain lines, as this is no terminal
    assert "left" in text
    check_figures(out, ["success"])
    small = tmp_path / "small"
    done = run("plot", str(out), "--compact", str(small))
    assert done.returncode == 0, done.stderr
    check_figures(small, ["success"])
    again = run("reproduce", "circles", "--preset", "smoke", "--out", str(out), "--inflation", "3")
    assert again.returncode == 1
    assert "inflations: there [2], here [3]" in again.stderr.replace("\n", " ")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["quadratic", "cubic"])
def test_regression(tmp_path, name):
    out, runs, _ = reproduced(tmp_path, name)
    assert [each["formulation"] for each in runs[::2]] == list(sx.FORMULATIONS)
    check_figures(
        out, ["loss_and_complexity", "fits_by_particles", "mapping", "weights_along_depth"]
    )
    assert "84,101" in (out / "figures" / "parameters.md").read_text()
    assert "static-direct" in (out / "figures" / "results.md").read_text()


@pytest.mark.slow
def test_spiral(tmp_path):
    out, runs, _ = reproduced(tmp_path, "spiral")
    for each in runs:
        assert 0 < each["short_range_loss"] < each["long_range_loss"]
    check_figures(out, ["short_range", "long_range", "squared_norm", "trajectories"])


def test_failed_runs_end_the_command_with_an_error(monkeypatch, capsys):
    from shootax.cli import main
    from shootax.cli import reproduce as command

    good = {"formulation": "static-direct", "inflation": 4, "particles": None, "status": "ok"}
    bad = {**good, "status": "failed", "reason": "MemoryError: too large."}
    results = [{**good, "test_mse": 0.5}, bad]
    monkeypatch.setattr(command, "reproduce", lambda *args, **options: results)
    monkeypatch.setattr(command, "draw_figures", lambda out: ([], []))
    monkeypatch.setattr("sys.argv", ["shootax", "reproduce", "quadratic", "--preset", "smoke"])
    with pytest.raises(SystemExit, match=r"1 of 2 runs failed.*MemoryError: too large") as ended:
        main()
    assert isinstance(ended.value.code, str)  # which Python prints, and turns into exit code 1
    assert "1/2" in capsys.readouterr().out  # the table is there nevertheless


def test_list(shootax):
    code, out, err = shootax("reproduce", "--list")
    assert code == 0, err
    for word in ("quadratic", "cubic", "spiral", "circles", "smoke", "quick", "paper", "min"):
        assert word in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("reproduce", "quartic"), "Unknown experiment 'quartic'. Choose one of: bouncing-balls"),
        (("reproduce", "cubic", "--preset", "slow"), "Unknown preset 'slow'. Choose one of: paper"),
        (("plot", "."), ". has no results"),
    ],
)
def test_mistakes(shootax, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, _ = shootax(*arguments)
    assert message in code  # a message as exit code is printed, and becomes 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_open_questions_by_one_command(tmp_path):
    done = run("reproduce", "questions", "--preset", "smoke", "--out", str(tmp_path), timeout=900)
    assert done.returncode == 0, done.stderr
    for name in COLLECTIONS["questions"]:
        assert (tmp_path / name / "results.json").exists()
        assert list((tmp_path / name / "figures").glob("*.png"))
        assert (tmp_path / name / "figures" / "results.md").read_text().count("\n") > 2
