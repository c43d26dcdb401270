"""Text of a user is shown as it is: brackets are no markup, control characters do nothing."""

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

import shootax as sx
from cases import KEY
from shootax.cli.app import app
from shootax.cli.text import plain
from shootax.sklearn import ShootingClassifier

pytestmark = pytest.mark.usefixtures("standard_promotion")

HOSTILE = [
    "[red]",
    "[/]",
    "[/red]",
    "[bold]a[/bold]",
    "[link=https://a.b]c",
    "\\[red]",
    "a\\",
    "[[x]]",
]


def command(*arguments):
    done = CliRunner().invoke(app, [str(a) for a in arguments])
    assert done.exit_code == 0, done.output or done.exception
    return "".join(done.output.split())


@pytest.mark.parametrize("text", HOSTILE)
def test_markup_is_shown_as_it_is(text):
    console = Console(width=80)
    with console.capture() as capture:
        console.print(plain(text))
    assert capture.get().strip() == text


def test_control_characters_are_spelled_out():
    assert plain("a\x1b]0;title\x07b\rc") == "a\\x1b]0;title\\x07b\\rc"


@pytest.mark.parametrize("text", HOSTILE)
def test_names_of_classes_columns_and_records_in_info(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(30, 2))
    y = np.where(x[:, 0] > 0, text, "other")
    model = ShootingClassifier(max_iter=1, particles=1, depth=1, width=2).fit(x, y)
    column = {"name": f"{text}!", "levels": None, "mean": 0.0, "missing": False}
    table = {"target": f"{text}?", "columns": [column, {**column, "name": "b"}]}
    model.save("m.safetensors", record={"table": table, f"{text};": f"{text}="})
    said = command("info", "m.safetensors")
    for end in "!?;=":
        assert f"{text}{end}" in said
    assert f"{text}," in said or f",{text}" in said


@pytest.mark.parametrize("text", HOSTILE)
def test_names_of_files_in_export(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    name = text.replace("/", "-")
    field = sx.Affine(2, activation="tanh")
    net = sx.Net(field, sx.Static(field, key=KEY), integrator=sx.Euler(2), key=KEY)
    sx.save(f"{name}.safetensors", net)
    assert f"Written:{name}_numpy.npz" in command("export", f"{name}.safetensors", "--to", "numpy")
