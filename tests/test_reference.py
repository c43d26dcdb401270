"""The reference pages have an entry for every public name, and for nothing else."""

import importlib
import inspect
import pathlib
import re

import pytest

REFERENCE = pathlib.Path(__file__).parents[1] / "docs" / "reference"
ENTRY = re.compile(r"^::: ([\w.]+)$", re.MULTILINE)
MODULES = (
    "shootax",
    "shootax.nn",
    "shootax.kernels",
    "shootax.maximisers",
    "shootax.extend",
    "shootax.sklearn",
    "shootax.export",
    "shootax.data",
    "shootax.plots",
    "shootax.sweeps",
    "shootax.paper",
    "shootax.report",
    "shootax.sklearn.tables",
    "shootax.theory",
)


def entries():
    return [name for page in REFERENCE.glob("*.md") for name in ENTRY.findall(page.read_text())]


def public(module):
    """Names that a module gives, without submodules and what belongs to another public module."""
    for name, thing in dict(vars(importlib.import_module(module))).items():
        if name.startswith("_") or inspect.ismodule(thing):
            continue
        others = [other for other in MODULES if other != module]
        home = [o for o in others if vars(importlib.import_module(o)).get(name) is thing]
        if not home or MODULES.index(module) < MODULES.index(home[0]):
            yield f"{module}.{name}"


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_entry(module):
    assert sorted(set(public(module)) - set(entries())) == []


def test_every_entry_is_a_public_name_and_stands_once():
    every = {name for module in MODULES for name in public(module)}
    assert sorted(set(entries()) - every) == []
    assert len(entries()) == len(set(entries()))
