"""Every example of the documentation runs."""

import ast
import inspect
import pathlib
import re
import textwrap

import jax
import pytest

import shootax

ROOMS = ("nn", "extend", "kernels", "maximisers", "data")
ROOT = pathlib.Path(__file__).parents[1]
LONG = ("README.md-2", "TrainingStep-0", "Validation-0", "compress-0", "data.rotating_mnist-0")
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.usefixtures("standard_promotion")


def blocks(text):
    return [textwrap.dedent(code) for _, code in BLOCK.findall(text)]


def documented():
    """Public names and their methods, each with its docstring."""
    rooms = {"": shootax, **{f"{room}.": getattr(shootax, room) for room in ROOMS}}
    for room, module in rooms.items():
        for name, thing in vars(module).items():
            if name.startswith("_") or inspect.ismodule(thing):
                continue
            yield f"{room}{name}", thing.__doc__ or ""
            if inspect.isclass(thing):
                for method, function in vars(thing).items():
                    if callable(function) or isinstance(function, classmethod | property):
                        yield f"{room}{name}.{method}", function.__doc__ or ""


def examples():
    found = {}
    for name, text in documented():
        for number, code in enumerate(blocks(text)):
            found.setdefault(code, f"{name}-{number}")
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    for page in pages:
        if page.exists():
            for number, code in enumerate(blocks(page.read_text())):
                found[code] = f"{page.relative_to(ROOT)}-{number}"
    return [
        pytest.param(
            code,
            id=name,
            marks=pytest.mark.slow if is_long(code, name) or name.startswith("docs/") else (),
        )
        for code, name in found.items()
    ]


def is_long(code, name):
    """Training of models of sequences, and that of the guides."""
    guide = name.startswith(("docs/guides", "docs/index")) and ("fit(" in code or "export" in code)
    return guide or "Forecaster(" in code or "LatentModel(" in code or name in LONG


def promised(code):
    """What the comments after calls of `print` say that they print, where that is a Python literal."""
    for line in code.splitlines():
        if line.startswith("print(") and "  # " in line:
            comment = line.rsplit("  # ", 1)[1]
            try:
                ast.literal_eval(comment)
            except (ValueError, SyntaxError):
                continue
            yield comment


@pytest.fixture
def cache_elsewhere(tmp_path_factory, monkeypatch):
    """An example may choose a cache for programs: not that of the user, and not for other tests."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: getattr(jax.config, name) for name in names}
    yield
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.mark.usefixtures("cache_elsewhere")
@pytest.mark.parametrize("code", examples())
def test_example(code, tmp_path, monkeypatch, capsys):
    """It runs without an error, and prints what its comments say."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "<example>", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out.splitlines()
    assert [line for line in promised(code) if line not in printed] == []


def test_there_are_promises_to_keep():
    kept = [line for param in examples() for line in promised(param.values[0])]
    assert "(3, 2)" in kept
    assert len(kept) >= 5


def test_there_are_examples():
    """The search above finds the docstrings: these are known to have one."""
    ids = {param.id for param in examples()}
    assert {"Net-0", "bake-0", "UpDown-0", "AbstractField-0"} <= ids


def test_every_public_name_is_documented():
    missing = [
        name
        for name, thing in vars(shootax).items()
        if not name.startswith("_") and not inspect.ismodule(thing) and callable(thing)
        if not (thing.__doc__ or "").strip()
    ]
    assert not missing
