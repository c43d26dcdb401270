"""Search: the space, suggestions as a function of what is known, and searches that are interrupted."""

import builtins
import json
import sys

import pytest

from shootax import FileFormatError
from shootax.sweeps import Integer, Real, search, to_pandas
from shootax.sweeps._suggest import _distribution, suggest

optuna = pytest.importorskip("optuna")

# The minimum is 0, at x = 0.3 with "b". Files in the folder of switches say what to do.
MODULE = """
import pathlib
import shootax as sx


def train(config, seed, ctx):
    switches = pathlib.Path(ctx.shared["switches"])
    with open(switches / "calls", "a") as file:
        file.write(ctx.name + "\\n")
    if (switches / "fail").exists():
        raise MemoryError("too large")
    if config["x"] > 0.9:
        raise sx.DivergedError("It went too far.", None)
    return {"error": (config["x"] - 0.3) ** 2 + (config["kind"][0] != "b") + seed, "text": "a"}
"""
SPACE = {"x": Real(0.0, 1.0), "kind": [["a", 1], ["b", 2]], "n": Integer(1, 9, log=True)}


@pytest.fixture(scope="module")
def function(tmp_path_factory):
    folder = tmp_path_factory.mktemp("module")
    (folder / "my_search.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    yield "my_search:train"
    sys.path.remove(str(folder))


def found(function, tmp_path, out, **options):
    shared = {"switches": str(tmp_path)}
    options = {"metric": "error", "trials": 12, "seed": 1, **options}
    return search(function, SPACE, tmp_path / out, shared=shared, **options)


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ({}, "must be a dictionary"),
        ([Real(0, 1)], "must be a dictionary"),
        ({"seed": Real(0, 1)}, "cannot be a name"),
        ({"x": (0.0)}, r"Real\(low, high\), Integer\(low, high\) or a list"),
        ({"x": []}, "a list of choices"),
    ],
)
def test_space_is_checked(space, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        search("json:loads", space, tmp_path / "out", metric="y")
    assert not (tmp_path / "out").exists()


def test_ends_are_checked():
    for make, message in (
        (lambda: Real(1, 0), "low < high"),
        (lambda: Real(0, 1, log=True), "above 0"),
        (lambda: Real(float("nan"), 1), "finite"),
        (lambda: Integer(1.5, 3), "whole numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            make()


def test_other_arguments_are_checked(tmp_path):
    for options, message in (
        ({"direction": "down"}, "Unknown direction"),
        ({"method": "grid"}, "Unknown method"),
        ({"trials": 0}, "trials"),
        ({"at_once": 0}, "at_once"),
    ):
        with pytest.raises(ValueError, match=message):
            search("json:loads", SPACE, tmp_path / "out", **{"metric": "y", **options})


def test_missing_optuna_is_said(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **options):
        if name.split(".")[0] == "optuna":
            raise ImportError(name)
        return real(name, *rest, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"needs Optuna: pip install 'shootax\[search\]'"):
        search("json:loads", SPACE, tmp_path / "out", metric="y")


def known(count, value):
    rng = __import__("random").Random(0)
    configs = [
        {"x": rng.random(), "kind": SPACE["kind"][rng.randrange(2)], "n": rng.randint(1, 9)}
        for _ in range(count)
    ]
    return [{"config": c, "value": value(c), "status": "ok"} for c in configs]


def test_suggestions_are_a_function_of_seed_and_results():
    def asked(seed=(0, 1), method="tpe", **options):
        trials = known(20, lambda c: (c["x"] - 0.3) ** 2)
        options = {"minimise": True, **options}
        return suggest(SPACE, trials, 5, method=method, seed=seed, **options)

    level = optuna.logging.get_verbosity()
    first = asked()
    assert first == asked()
    assert first != asked(seed=(0, 2))
    assert first != asked(minimise=False)
    assert asked(method="random") == asked(method="random", minimise=False)
    assert optuna.logging.get_verbosity() == level
    for config in first:
        assert list(config) == list(SPACE)
        assert 0 <= config["x"] <= 1
        assert config["kind"] in SPACE["kind"]
        assert isinstance(config["n"], int)
        assert 1 <= config["n"] <= 9


def test_suggestions_are_where_results_are_good():
    """Twenty known trials: the next ones are nearer to the best of them than random ones."""

    def distance(trials, **options):
        asked = suggest(SPACE, trials, 40, seed=(3, 0), **{"minimise": True, **options})
        return sum(abs(config["x"] - 0.3) for config in asked) / 40

    trials = known(30, lambda c: (c["x"] - 0.3) ** 2)
    assert distance(trials, method="tpe") < 0.6 * distance(trials, method="random")
    # Trials that diverged count as worse than all others.
    split = [
        {**t, "status": "ok" if abs(t["config"]["x"] - 0.3) < 0.2 else "diverged", "value": 1.0}
        for t in trials
    ]
    assert distance(split, method="tpe") < 0.6 * distance(trials, method="random")


def test_search_finds_the_minimum_and_goes_on(function, tmp_path):
    """Trials that end well, that diverge, seeds, the table; then more trials in the same folder."""
    first = found(function, tmp_path, "out", trials=10, seeds=[0, 2])
    assert len(first.trials) == 10
    assert len(first.runs) == 20
    for trial in first.trials:
        assert trial["status"] == ("diverged" if trial["x"] > 0.9 else "ok")
        if trial["status"] == "ok":
            error = (trial["x"] - 0.3) ** 2 + (trial["kind"][0] != "b")
            assert trial["value"] == pytest.approx(error + 1)  # the mean over both seeds
    values = [trial["value"] for trial in first.trials if trial["value"] is not None]
    assert first.best["value"] == min(values)
    assert len(to_pandas(first.trials)) == 10
    (tmp_path / "calls").unlink()
    more = found(function, tmp_path, "out", trials=13, seeds=[0, 2])
    assert more.trials[:10] == first.trials
    names = set((tmp_path / "calls").read_text().split())
    assert {name.rpartition("-")[0] for name in names} == {f"trial-00{n}" for n in (10, 11, 12)}
    # Nothing is left to do, and what was suggested is not suggested again.
    (tmp_path / "calls").unlink()
    assert found(function, tmp_path, "out", trials=13, seeds=[0, 2]) == more
    assert not (tmp_path / "calls").exists()
    with pytest.raises(ValueError, match="holds a sweep with other settings"):
        found(function, tmp_path, "out", trials=13, seeds=[0, 2], seed=5)
    path = tmp_path / "out" / "trials.json"
    for text in ("[{", '[{"y": 1}]', "7"):
        path.write_text(text)
        with pytest.raises(FileFormatError, match="is damaged"):
            found(function, tmp_path, "out", trials=13, seeds=[0, 2])


@pytest.mark.slow
def test_search_is_the_same_on_any_number_of_processes(function, tmp_path):
    one = found(function, tmp_path, "one", jobs=1)
    assert found(function, tmp_path, "two", jobs=3).trials == one.trials
    # In two parts, cut in the middle of a round.
    found(function, tmp_path, "parts", trials=6)
    assert found(function, tmp_path, "parts").trials == one.trials
    assert json.loads((tmp_path / "one" / "trials.json").read_text()) == json.loads(
        (tmp_path / "parts" / "trials.json").read_text()
    )


@pytest.mark.slow
def test_search_stops_when_everything_fails_and_says_what_is_missing(function, tmp_path):
    (tmp_path / "fail").write_text("")
    with pytest.raises(RuntimeError, match=r"All 4 trials so far have failed.*too large"):
        found(function, tmp_path, "out")
    (tmp_path / "fail").unlink()
    assert len(found(function, tmp_path, "out").trials) == 12
    with pytest.raises(ValueError, match="returned no 'loss'"):
        found(function, tmp_path, "other", metric="loss", trials=1)
    with pytest.raises(ValueError, match="'text' must be a number, got 'a'"):
        found(function, tmp_path, "text", metric="text", trials=1)


def test_logarithmic_ranges_stay_so():
    for log in (False, True):
        assert _distribution(optuna, Real(0.1, 10.0, log=log)).log is log
        assert _distribution(optuna, Integer(1, 10, log=log)).log is log
