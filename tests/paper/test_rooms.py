"""Who may import whom: sweeps and plots know nothing of the paper, and the paper not of commands."""

import ast
import importlib
import pathlib
import pkgutil

import pytest

import shootax

ROOT = pathlib.Path(shootax.__file__).parent
FORBIDDEN = {
    "sweeps": ("paper", "plots", "cli", "estimators"),
    "plots": ("paper", "sweeps", "cli", "estimators"),
    "paper": ("cli", "estimators"),
}


def imported(path):
    """Names of modules that a file imports, also inside functions."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("room", FORBIDDEN)
def test_no_cycles(room):
    for path in (ROOT / room).glob("*.py"):
        for name in imported(path):
            parts = name.split(".")
            if parts[0] == "shootax" and len(parts) > 1:
                assert parts[1] not in FORBIDDEN[room], f"{path.name} imports {name}"
    others = [r for r in ("controls", "data", "fields", "train", "systems") if r != room]
    for other in others:
        for path in (ROOT / other).glob("*.py"):
            assert not any(name.startswith(f"shootax.{room}") for name in imported(path))


@pytest.mark.parametrize("room", FORBIDDEN)
def test_modules_are_private(room):
    package = importlib.import_module(f"shootax.{room}")
    modules = [module.name for module in pkgutil.iter_modules(package.__path__)]
    assert modules
    assert all(name.startswith("_") for name in modules)


@pytest.mark.parametrize("room", FORBIDDEN)
def test_public_names_are_documented(room):
    package = importlib.import_module(f"shootax.{room}")
    for name, value in vars(package).items():
        if not name.startswith("_") and callable(value):
            assert value.__doc__, f"shootax.{room}.{name} has no docstring"
