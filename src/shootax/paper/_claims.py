"""The paper's claims about rankings, each with an interval and a test, under every recipe."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from shootax import FileFormatError
from shootax.paper._results import Results, Run
from shootax.paper._statistics import discordant_p, holm, paired_p, pseudomedian

LEVEL = 0.05
DYNAMIC, FROZEN = "dynamic-particles", "static-particles"
STATIC, PIECEWISE = "static-direct", "dynamic-direct"
COMPLEXITY = "complexity_log2_frobenius"


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim of the paper that `entry` is lower for the runs `low` than for the runs `high`.

    **Arguments:**

    - `text`: the claim in words.
    - `entry`: the column of the results.
    - `low`, `high`: columns and values that select the runs; `high` may be a number. If neither contains
        an inflation factor, runs are compared at equal inflation factors.
    - `scale`: `"ratio"`, `"difference"`, or `"rate"` for entries that are true or false.
    """

    text: str
    entry: str
    low: Mapping[str, Any]
    high: Mapping[str, Any] | float
    scale: str = "ratio"


@dataclasses.dataclass(frozen=True)
class Finding:
    """The result of testing a claim under one recipe.

    **Arguments:**

    - `claim`, `recipe`: the tested claim and the recipe.
    - `seeds`: the number of compared pairs of runs.
    - `estimate`, `low`, `high`: the ratio or difference, and its interval.
    - `p`: the p value, corrected for the number of claims.
    - `lost`: the number of runs that diverged.
    """

    claim: Claim
    recipe: str
    seeds: int
    estimate: float
    low: float
    high: float
    p: float
    lost: int

    @property
    def verdict(self) -> str:
        """`holds`, `opposite` or `undecided`."""
        if self.p >= LEVEL:
            return "undecided"
        neutral = 1.0 if self.claim.scale == "ratio" else 0.0
        return "holds" if self.estimate < neutral else "opposite"


def _ranking(entry: str, best: str, others: Sequence[str], text: str, scale: str) -> list[Claim]:
    low = {"formulation": best}
    return [
        Claim(f"{text} than {other}", entry, low, {"formulation": other}, scale) for other in others
    ]


def _fewer(entry: str, few: int, many: int, inflation: int) -> Claim:
    base = {"formulation": DYNAMIC, "inflation": inflation}
    text = f"{many} particles fit better than {few} ({DYNAMIC}, α = {inflation})"
    return Claim(text, entry, {**base, "particles": many}, {**base, "particles": few})


_BEST = f"{DYNAMIC} fits better"
_SIMPLEST = f"{DYNAMIC} has a lower complexity"
_FROZEN_FAILS = Claim(
    f"{FROZEN} fits worse than {STATIC}",
    "test_mse",
    {"formulation": STATIC},
    {"formulation": FROZEN},
)
_WIDER = [
    Claim(
        "with little weight on the loss, α = 20 fits all training data more often than α = 5",
        "success",
        {"inflation": 5, "data_weight": 3.0},
        {"inflation": 20, "data_weight": 3.0},
        "rate",
    ),
    *(
        Claim(
            f"with much weight on the loss, α = 20 has a lower {word} than α = 5",
            entry,
            {"inflation": 20, "data_weight": 100.0},
            {"inflation": 5, "data_weight": 100.0},
            scale,
        )
        for entry, word, scale in (
            ("penalty", "penalty", "ratio"),
            (COMPLEXITY, "complexity", "difference"),
        )
    ),
]

CLAIMS: dict[str, list[Claim]] = {
    "quadratic": [
        *_ranking("test_mse", DYNAMIC, (STATIC, FROZEN, PIECEWISE), _BEST, "ratio"),
        *_ranking(COMPLEXITY, DYNAMIC, (STATIC, PIECEWISE), _SIMPLEST, "difference"),
        _FROZEN_FAILS,
        _fewer("test_mse", 2, 15, 16),
        _fewer("test_mse", 5, 15, 16),
    ],
    "cubic": [
        *_ranking("test_mse", DYNAMIC, (STATIC, PIECEWISE), _BEST, "ratio"),
        *_ranking("test_mse", FROZEN, (STATIC, DYNAMIC), f"{FROZEN} fits better", "ratio"),
        *_ranking(COMPLEXITY, DYNAMIC, (STATIC, PIECEWISE), _SIMPLEST, "difference"),
        Claim(
            f"2 particles leave less than 1 % of the variance ({DYNAMIC}, α = 16)",
            "test_mse",
            {"formulation": DYNAMIC, "inflation": 16, "particles": 2},
            0.01 * 1.5**6 / 7,
        ),
    ],
    "spiral": [
        *_ranking("short_range_loss", DYNAMIC, (STATIC, FROZEN, PIECEWISE), _BEST, "ratio"),
        *_ranking(
            "long_range_loss",
            DYNAMIC,
            (STATIC, FROZEN, PIECEWISE),
            f"{DYNAMIC} predicts the long trajectory better",
            "ratio",
        ),
        *_ranking(COMPLEXITY, DYNAMIC, (STATIC, FROZEN, PIECEWISE), _SIMPLEST, "difference"),
    ],
    "circles": _WIDER,
}
"""The quantitative claims of the paper about each experiment."""


def check_claims(recipes: Sequence[Results]) -> list[Finding]:
    """Test the paper's claims on the results of one experiment under several recipes.

    Values are compared seed by seed: the difference, or the logarithm of the ratio, at each inflation
    factor that both sides have, and then its median over these factors. The estimate is the
    Hodges-Lehmann estimate with a 95 % interval. The test is Wilcoxon's signed-rank test, or the sign
    test for rates. p values are corrected for the number of claims by Holm's method. A run that diverged
    counts as the worst of the runs that did not. Claims whose runs are missing under a recipe are
    omitted.

    **Arguments:** `recipes`: the results, one for each recipe.

    !!! example

        ```python
        from shootax.paper import CLAIMS

        print(CLAIMS["quadratic"][0].text)  # dynamic-particles fits better than static-direct
        ```
    """
    names = {results.settings.experiment for results in recipes}
    if len(names) != 1:
        raise ValueError(
            "Claims can only be tested for one experiment, got results of "
            f"{', '.join(sorted(names)) or 'none'}. Give folders of one experiment under several recipes."
        )
    (name,) = names
    if name not in CLAIMS:
        raise ValueError(f"There are only claims about {', '.join(CLAIMS)}, got results of {name}.")
    found: list[Finding] = []
    for results in completed(recipes):
        tested = [each for claim in CLAIMS[name] if (each := _compare(claim, results)) is not None]
        corrected = holm([finding.p for finding in tested])
        found += [
            dataclasses.replace(finding, p=p) for finding, p in zip(tested, corrected, strict=True)
        ]
    return found


def completed(recipes: Sequence[Results]) -> list[Results]:
    """The recipes, completed: if `averaged` lacks models without momenta, they are taken from `paper`,
    where they are the same."""
    by_name = {results.settings.recipe: results for results in recipes}
    if len(by_name) != len(recipes):
        raise ValueError(
            "Two of the folders have results of the same recipe. Give one folder for each recipe."
        )
    paper, averaged = by_name.get("paper"), by_name.get("averaged")
    if paper is None or averaged is None:
        return list(recipes)
    have = {run["formulation"] for run in averaged.runs}
    direct = [
        run for run in paper.runs if run["particles"] is None and run["formulation"] not in have
    ]
    formulations = tuple(
        name
        for name in paper.settings.formulations
        if name in have or any(run["formulation"] == name for run in direct)
    )
    whole = Results(
        averaged.folder,
        dataclasses.replace(averaged.settings, formulations=formulations),
        averaged.runs + direct,
    )
    return [whole if results is averaged else results for results in recipes]


def _compare(claim: Claim, results: Results) -> Finding | None:
    low, lost_low = _by_place(claim, claim.low, results)
    if isinstance(claim.high, int | float):
        high, lost_high = dict.fromkeys(low, float(claim.high)), 0
    else:
        high, lost_high = _by_place(claim, claim.high, results)
    shared = sorted(low.keys() & high.keys())
    by_seed: dict[int, list[float]] = {}
    for place in shared:
        a, b = low[place], high[place]
        if claim.scale == "ratio" and min(a, b) <= 0:
            raise FileFormatError(
                f"The results are damaged: {claim.entry} is {min(a, b)} for a run, but a ratio needs "
                "positive numbers."
            )
        difference = np.log(a) - np.log(b) if claim.scale == "ratio" else a - b
        by_seed.setdefault(place[1], []).append(float(difference))
    if len(by_seed) < 2:
        return None
    differences = np.array([np.median(values) for _, values in sorted(by_seed.items())])
    if claim.scale == "rate":
        middle = float(np.mean(differences))
        half = 1.959964 * float(np.std(differences, ddof=1)) / len(differences) ** 0.5
        low_end, high_end, p = middle - half, middle + half, discordant_p(differences)
    else:
        (middle, low_end, high_end), p = pseudomedian(differences), paired_p(differences)
    if claim.scale == "ratio":
        middle, low_end, high_end = (float(np.exp(v)) for v in (middle, low_end, high_end))
    return Finding(
        claim,
        results.settings.recipe,
        len(differences),
        middle,
        low_end,
        high_end,
        p,
        lost_low + lost_high,
    )


def _by_place(
    claim: Claim, wanted: Mapping[str, Any], results: Results
) -> tuple[dict[tuple[Any, int], float], int]:
    """The values by inflation factor and seed, and the number of runs that diverged."""
    full = dict(wanted)
    if "particles" not in full and "formulation" in full:
        full["particles"] = results.particles_of(full["formulation"])
    runs = [run for run in results.runs if all(run.get(k) == v for k, v in full.items())]
    good = [float(run[claim.entry]) for run in runs if _finite(run, claim.entry)]
    if not good:
        return {}, 0
    values, lost = {}, 0
    for run in runs:
        place = (None if "inflation" in full else run["inflation"], run["seed"])
        if _finite(run, claim.entry):
            values[place] = float(run[claim.entry])
        else:
            values[place], lost = max(good), lost + 1
    return values, lost


def _finite(run: Run, entry: str) -> bool:
    value = run.get(entry)
    if value is not None and not isinstance(value, bool | int | float):
        raise FileFormatError(
            f"The results are damaged: {entry} of a run is {value!r}, not a number."
        )
    return run["status"] == "ok" and value is not None and bool(np.isfinite(value))


def claims_table(findings: Sequence[Finding]) -> str:
    """Format findings as a Markdown table with a line for each claim and a column for each recipe.

    **Arguments:** `findings`: the findings.
    """
    recipes = list(dict.fromkeys(finding.recipe for finding in findings))
    lines = [
        "| the paper says | " + " | ".join(f"`{name}`" for name in recipes) + " |",
        "|---" * (1 + len(recipes)) + "|",
    ]
    for claim in dict.fromkeys(finding.claim.text for finding in findings):
        cells = {f.recipe: _cell(f) for f in findings if f.claim.text == claim}
        lines.append(f"| {claim} | " + " | ".join(cells.get(r, "not run") for r in recipes) + " |")
    seeds = sorted({finding.seeds for finding in findings})
    count = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    lines += [
        "",
        f"Paired over {count} seeds; ratio or difference with its 95 % interval, p value corrected "
        "for the number of claims.",
    ]
    return "\n".join(lines) + "\n"


def _cell(finding: Finding) -> str:
    if finding.claim.scale == "ratio":
        numbers = f"ratio {finding.estimate:.2g} ({finding.low:.2g} to {finding.high:.2g})"
    elif finding.claim.scale == "rate":
        # The table shows how much more often `high` succeeds, so the sign is reversed.
        low, middle, high = (0.0 - 100 * v for v in (finding.high, finding.estimate, finding.low))
        numbers = f"{middle:+.0f} points ({low:+.0f} to {high:+.0f})"
    else:
        numbers = f"{finding.estimate:+.2f} ({finding.low:+.2f} to {finding.high:+.2f})"
    lost = f", {finding.lost} diverged" if finding.lost else ""
    return f"**{finding.verdict}**: {numbers}, p {_p(finding.p)}{lost}"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.2g}"
