"""Evaluate the models of a sweep again, and compare the numbers with those in its results."""

import pathlib

from rich.console import Console
from rich.progress import track

from shootax.cli.text import say
from shootax.paper import Verification, verify

_MAIN = ("test_mse", "test_accuracy", "test_loss", "energy")
"""The numbers to show for each model; the first one that it has."""


def run(folder: pathlib.Path) -> None:
    """Print a line for each model. Exit with code 1 if a number differs."""
    console, progress = Console(), Console(stderr=True)
    found = []
    for each in track(
        verify(folder),
        description=f"Evaluating {folder.name}",
        console=progress,
        transient=True,
        disable=not progress.is_terminal,
    ):
        found.append(each)
        say(_line(each), console)
    wrong = sum(bool(each.differing) for each in found)
    say(f"{len(found) - wrong} of {len(found)} models give the recorded numbers.", console)
    if wrong:
        raise SystemExit(1)


def _line(each: Verification) -> str:
    model = pathlib.Path(each.run["model"]).stem
    if not each.differing:
        (name, *_) = [name for name in (*_MAIN, *each.evaluated) if name in each.evaluated]
        return f"{model}: {name} {_shown(each.evaluated[name])}, as recorded"
    differences = [
        f"{name} is {_shown(each.evaluated[name])}, recorded {_shown(each.recorded[name])}"
        for name in each.differing
    ]
    return f"{model} DIFFERS: {'; '.join(differences)}"


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
