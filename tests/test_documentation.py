"""Every public class and function has its arguments and an example documented, and examples run."""

import ast
import importlib
import inspect
import pathlib
import re
import textwrap

import jax
import pytest

import shootax

ROOMS = (
    "nn",
    "extend",
    "kernels",
    "maximisers",
    "data",
    "export",
    "plots",
    "report",
    "sklearn",
    "sklearn.tables",
    "sweeps",
    "paper",
    "theory",
)
ROOT = pathlib.Path(__file__).parents[1]
LONG = ("README.md-2", "TrainingStep-0", "Validation-0", "compress-0", "data.rotating_mnist-0")
COMPILING = (
    "fit(",
    "net(",
    "bake",
    "resnet(",
    "maximise(",
    "penalty(net",
    "flow(",
    "Chain(",
    "path(",
)
LONG_ROOMS = (
    "export.",
    "plots.",
    "report.",
    "sklearn.",
    "sweeps.run",
    "sweeps.search",
    "paper.",
    "theory.",
)
BLOCK = re.compile(r"^( *)```python\n(.*?)^\1```", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.usefixtures("standard_promotion")


def blocks(text):
    return [textwrap.dedent(code) for _, code in BLOCK.findall(text)]


def documented():
    """Public names and their methods, each with its docstring."""
    for name, thing in public():
        yield name, thing.__doc__ or ""
        if inspect.isclass(thing):
            for method, function in vars(thing).items():
                if callable(function) or isinstance(function, classmethod | property):
                    yield f"{name}.{method}", function.__doc__ or ""


def public():
    """Public names of the library and its rooms, each with what it stands for."""
    rooms = {f"{room}.": importlib.import_module(f"shootax.{room}") for room in ROOMS}
    for room, module in {"": shootax, **rooms}.items():
        for name, thing in vars(module).items():
            if not name.startswith("_") and not inspect.ismodule(thing):
                yield f"{room}{name}", thing


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
    """What compiles more than a draw of particles; the first words of a newcomer stay."""
    if name in ("README.md-0", "fit-0", "Net-0"):
        return False
    return name in LONG or name.startswith(LONG_ROOMS) or any(call in code for call in COMPILING)


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


# Interfaces that the guide on extending the library implements, results that functions return, and
# parts of the command line.
WITHOUT_EXAMPLE = {
    *("extend.AbstractControl", "extend.AbstractParticleControl", "extend.AbstractIntegrator"),
    *("extend.AbstractSystem", "extend.ParticleState", "extend.State", "extend.EpochReport"),
    *("extend.Baked", "extend.Compression", "maximisers.Maximum", "nn.Classifier", "data.Spiral"),
    *("maximisers.AbstractMaximiser", "maximisers.AbstractIterative"),
    *("export.Exportable", "export.Whole"),
    *("sklearn.tables.Column", "sklearn.tables.Problems", "sklearn.tables.encode"),
    *("sklearn.tables.from_json", "sklearn.tables.to_json", "sklearn.tables.is_categorical"),
    *("sklearn.tables.numbers_of", "sklearn.tables.screen", "sklearn.tables.first_too_large"),
    *("sweeps.Context", "sweeps.Group", "sweeps.Sweep", "sweeps.Channel", "sweeps.Worker"),
    *("sweeps.Store", "sweeps.grid_sweep", "sweeps.resume", "sweeps.read_results"),
    *("sweeps.read_settings", "sweeps.AbstractEngine", "sweeps.LocalEngine", "sweeps.SearchResult"),
    *("paper.AbstractExperiment", "paper.Configuration", "paper.Settings", "paper.Results"),
    *("paper.compact", "paper.draw_figures", "paper.planned", "paper.reproduce"),
    *("paper.Claim", "paper.Finding", "paper.claims_table", "paper.compare_recipes"),
    "paper.Verification",
    *("theory.Approximation", "theory.Certificate", "theory.GeneralisationBound", "theory.Row"),
    *("theory.RademacherBounds", "theory.RademacherEstimate"),
}


def described():
    """Public classes and functions of ours, with their docstrings and those of their constructors."""
    for name, thing in public():
        ours = getattr(thing, "__module__", "").startswith("shootax")
        exception = inspect.isclass(thing) and issubclass(thing, Exception)
        named = inspect.isclass(thing) or inspect.isroutine(thing) or hasattr(thing, "__wrapped__")
        if named and ours and not exception:
            constructor = thing.__init__.__doc__ if inspect.isclass(thing) else ""
            yield name, thing, f"{thing.__doc__ or ''}{constructor or ''}"


def test_every_public_name_describes_its_arguments():
    missing = [
        name
        for name, thing, text in described()
        if inspect.signature(thing).parameters and not inspect.isabstract(thing)
        if not name.rpartition(".")[2].startswith("Abstract") and "**Arguments:**" not in text
    ]
    assert missing == []


def test_every_public_name_has_an_example():
    missing = {name for name, _, text in described() if "```python" not in text}
    assert sorted(missing - WITHOUT_EXAMPLE) == []
    assert sorted(WITHOUT_EXAMPLE - missing) == []
