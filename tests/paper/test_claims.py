"""The paper's claims are tested by paired statistics that are checked against brute force."""

import dataclasses
import itertools
import json
import pathlib

import numpy as np
import pytest

import shootax as sx
from shootax.paper import (
    CLAIMS,
    EXPERIMENTS,
    Claim,
    Results,
    check_claims,
    compare_recipes,
    make_settings,
)
from shootax.paper import _claims as claims
from shootax.paper._statistics import discordant_p, holm, paired_p, pseudomedian
from shootax.paper._tables import results_table

RESULTS = pathlib.Path(__file__).parents[2] / "docs" / "results"


def test_wilcoxon_by_counting_all_signs():
    differences = np.array([0.3, -0.1, 0.7, 1.1, 0.5, -0.2, 0.9])
    ranks = np.argsort(np.argsort(np.abs(differences))) + 1
    seen = ranks[differences > 0].sum()
    sums = [np.dot(signs, ranks) for signs in itertools.product((0, 1), repeat=len(ranks))]
    far = abs(seen - ranks.sum() / 2)
    expected = np.mean([abs(each - ranks.sum() / 2) >= far for each in sums])
    assert paired_p(differences) == pytest.approx(expected)
    assert paired_p(-differences) == pytest.approx(expected)
    assert paired_p(np.zeros(5)) == 1.0


def test_interval_holds_the_truth_as_often_as_it_says():
    """2,000 samples of 10 skewed differences about zero: the exact level of n = 10 is 95.1 %."""
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(2000):
        middle, low, high = pseudomedian(rng.standard_cauchy(10))
        assert low <= middle <= high
        held += low <= 0 <= high
    assert 0.94 < held / 2000 < 0.965


def test_interval_excludes_zero_just_where_the_test_rejects():
    rng = np.random.default_rng(1)
    agree = []
    for _ in range(300):
        differences = rng.normal(0.6, 1.0, 10)
        _, low, high = pseudomedian(differences)
        agree.append((low > 0 or high < 0) == (paired_p(differences) < 0.05))
    assert all(agree)


def test_one_wild_run_does_not_move_the_estimate_far():
    differences = np.linspace(0.9, 1.1, 10)
    differences[0] = 1e9
    middle, low, high = pseudomedian(differences)
    assert middle == pytest.approx(1.02, abs=0.05)
    assert 0.9 < low < high


def test_sign_test_and_holm_by_hand():
    assert discordant_p(np.array([1, 1, 1, 1, 1, 0, 0, -1])) == pytest.approx(2 * (1 + 6) / 2**6)
    assert discordant_p(np.zeros(3)) == 1.0
    assert holm([0.01, 0.04, 0.03, 0.5]) == pytest.approx([0.04, 0.09, 0.09, 0.5])


def results(recipe="paper", factor=0.5, lost=()):
    """Dynamic with particles has `factor` times the error of the others, seed by seed."""
    settings = make_settings(EXPERIMENTS["quadratic"], "paper", recipe, inflations=[4, 8])
    rng = np.random.default_rng(3)
    runs = []
    for inflation, name, seed in itertools.product((4, 8), settings.formulations, range(10)):
        dynamic = name == "dynamic-particles"
        bad = dynamic and seed in lost
        error = np.exp(rng.normal(0, 0.1)) * (factor if dynamic else 1.0)
        run = {"formulation": name, "inflation": inflation, "seed": seed, "test_mse": float(error)}
        run["particles"] = 15 if name.endswith("-particles") else None
        run["complexity_log2_frobenius"] = -1.0 if dynamic else 0.5 + 0.01 * seed
        runs.append({**run, "status": "diverged" if bad else "ok"})
    return Results(pathlib.Path("none"), settings, runs)


def finding(found, text):
    (one,) = [each for each in found if text in each.claim.text]
    return one


def test_a_claim_holds_or_is_the_opposite():
    better = finding(check_claims([results(factor=0.5)]), "fits better than static-direct")
    assert better.verdict == "holds"
    assert better.low < 0.5 < better.high
    worse = finding(check_claims([results(factor=2.0)]), "fits better than static-direct")
    assert worse.verdict == "opposite"
    level = finding(check_claims([results(factor=1.0)]), "fits better than static-direct")
    assert level.verdict == "undecided"
    simple = finding(check_claims([results()]), "lower complexity than static-direct")
    assert simple.verdict == "holds"
    assert -1.6 < simple.estimate < -1.5  # a difference, not a ratio


def test_runs_that_diverged_count_as_the_worst():
    whole = finding(check_claims([results()]), "fits better than static-direct")
    lost = finding(check_claims([results(lost=(0, 1))]), "fits better than static-direct")
    assert (whole.lost, lost.lost) == (0, 4)
    assert lost.seeds == 10
    assert lost.estimate > whole.estimate


def test_averaged_takes_the_models_without_momenta_from_paper():
    averaged = results("averaged")
    runs = [run for run in averaged.runs if run["particles"] is not None]
    names = ("static-particles", "dynamic-particles")
    settings = dataclasses.replace(averaged.settings, formulations=names)
    found = check_claims([results(), dataclasses.replace(averaged, settings=settings, runs=runs)])
    by_recipe = [each.recipe for each in found if each.claim.text == CLAIMS["quadratic"][0].text]
    assert by_recipe == ["paper", "averaged"]


def test_messages():
    with pytest.raises(ValueError, match="one experiment"):
        check_claims([])
    with pytest.raises(ValueError, match="same recipe"):
        check_claims([results(), results()])


def test_the_table_of_results_has_a_line_for_each_configuration():
    lines = [line.split("|")[1:-1] for line in results_table(results(lost=(3,))).splitlines()]
    assert {len(line) for line in lines} == {len(lines[0])}
    cells = [[cell.strip() for cell in line] for line in lines]
    assert [line[:4] for line in cells[2:4]] == [
        ["dynamic-direct", "4", "–", "10/10"],
        ["dynamic-particles", "4", "15", "9/10"],
    ]
    assert len(cells) == 2 + 2 * 4


def test_models_that_are_missing_are_named():
    with pytest.raises(FileNotFoundError, match=r"the models a\.x, b\.x are not in none"):
        results().nets({1: {"model": "a.x"}, 2: {"model": "b.x"}})


def test_a_level_instead_of_other_runs():
    base = results()
    claim = Claim("small", "test_mse", {"formulation": "static-direct"}, 100.0)
    found = claims._compare(claim, base)
    assert found is not None
    assert found.estimate < 0.02


def test_published_results_side_by_side(tmp_path):
    folders = [RESULTS / f"quadratic-{name}" for name in ("best", "averaged", "paper")]
    out = tmp_path / "new" / "folder"
    findings, paths = compare_recipes(folders, out)
    assert [path.name for path in paths] == [
        "recipes.png",
        "recipes.svg",
        "claims.md",
        "claims.json",
    ]
    stored = json.loads((out / "claims.json").read_text())
    assert len(stored) == len(findings)
    header = (out / "claims.md").read_text().splitlines()[0]
    assert header == "| the paper says | `paper` | `averaged` | `best` |"
    complexity = [e for e in findings if e.recipe == "averaged" and "complexity" in e.claim.text]
    assert {each.verdict for each in complexity} == {"holds"}  # as the page has it


@pytest.mark.parametrize("value", [0.0, -1.0, "0.1", [0.1]])
def test_numbers_that_no_run_has_are_refused(value):
    broken = results()
    broken.runs[0]["test_mse"] = value
    with pytest.raises(sx.FileFormatError, match="The results are damaged: test_mse"):
        check_claims([broken])
