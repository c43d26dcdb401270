"""One experiment under several recipes: the figure side by side, and the table of claims."""

import json
import os
import pathlib
from collections.abc import Sequence
from typing import Any

from shootax._files import write_text
from shootax.paper import _circles_figures
from shootax.paper._boxes import COMPLEXITY, recipes_figure
from shootax.paper._claims import Finding, check_claims, claims_table, completed
from shootax.paper._results import Results
from shootax.plots import save_figure

ORDER = ("paper", "averaged", "best")

_PANELS: dict[str, Sequence[tuple[str, str, bool]]] = {
    "quadratic": [("test_mse", "test MSE", True), COMPLEXITY],
    "cubic": [("test_mse", "test MSE", True), COMPLEXITY],
    "spiral": [
        ("short_range_loss", "short-range loss", True),
        ("long_range_loss", "long-range loss", True),
        COMPLEXITY,
    ],
}


def compare_recipes(
    folders: Sequence[str | os.PathLike], out: str | os.PathLike
) -> tuple[list[Finding], list[pathlib.Path]]:
    """Draw the recipes of an experiment side by side, and test the paper's claims under each.

    Writes `recipes.png`, `recipes.svg`, `claims.md` and `claims.json`.

    **Arguments:**

    - `folders`: folders with results of `shootax reproduce`, one for each recipe.
    - `out`: the folder to write to. It is created if necessary.

    **Returns:** the findings of [`shootax.paper.check_claims`][], and the paths of the files.
    """
    recipes = [Results.read(folder) for folder in folders]
    recipes.sort(key=lambda each: (*map(each.settings.recipe.__ne__, ORDER), each.settings.recipe))
    findings = check_claims(recipes)
    out = pathlib.Path(out)
    out.mkdir(parents=True, exist_ok=True)
    paths = list(save_figure(_figure(completed(recipes)), out, "recipes"))
    for name, text in (
        ("claims.md", claims_table(findings)),
        ("claims.json", json.dumps([_plain(each) for each in findings], indent=1) + "\n"),
    ):
        write_text(out / name, text)
        paths.append(out / name)
    return findings, paths


def _figure(recipes: Sequence[Results]) -> Any:
    settings = recipes[0].settings
    if settings.experiment == "circles":
        return _circles_figures.recipes_figure(recipes)
    seeds, count = len(settings.seeds), recipes[0].main_particles()
    title = f"{settings.experiment}, {seeds} seeds, {count} particles, {settings.epochs} epochs"
    return recipes_figure(recipes, _PANELS[settings.experiment], title)


def _plain(finding: Finding) -> dict[str, Any]:
    return {
        "claim": finding.claim.text,
        "entry": finding.claim.entry,
        "scale": finding.claim.scale,
        "recipe": finding.recipe,
        "seeds": finding.seeds,
        "estimate": finding.estimate,
        "interval": [finding.low, finding.high],
        "p": finding.p,
        "diverged": finding.lost,
        "verdict": finding.verdict,
    }
