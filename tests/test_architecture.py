"""The shape of the code: what may import what, what is public, and how long a file may be."""

import ast
import graphlib
import importlib
import itertools
import pathlib
import re
import types

import pytest

import shootax

ROOT = pathlib.Path(__file__).parents[1]
SOURCE = ROOT / "src" / "shootax"
FILES = sorted(SOURCE.rglob("*.py"))

# Rooms that are imported when first used. They stand outside the core and use what users use.
ROOMS = ("cli", "data", "export", "paper", "plots", "report", "sklearn", "sweeps", "theory")
FOUNDATIONS = ("shootax._checks", "shootax._files", "shootax._jaxpr")


def module_name(path):
    parts = ("shootax", *path.relative_to(SOURCE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in FILES}
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def is_checking(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def statements(node, inside_functions):
    """All statements below a node; without those that only a type checker sees."""
    for child in ast.iter_child_nodes(node):
        if is_checking(child):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not inside_functions:
            continue
        yield child
        yield from statements(child, inside_functions)


def imports(module, inside_functions=False):
    """The modules of shootax that a module imports, each with the name taken from it or `None`."""
    found = []
    for node in statements(TREES[module], inside_functions):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.append((whole, None) if whole in MODULES else (node.module, alias.name))
    return [(name, taken) for name, taken in found if name in MODULES]


def part(module):
    """The package or file directly below `shootax` that a module belongs to."""
    return ".".join(module.split(".")[:2])


def assert_without_cycles(graph):
    try:
        list(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as error:
        pytest.fail(f"These import each other in a circle: {' ← '.join(error.args[1])}")


def test_circles_are_found():
    with pytest.raises(pytest.fail.Exception, match="in a circle: "):
        assert_without_cycles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}})
    assert ("shootax._fields.base", "AbstractField") in imports("shootax._fields")


def test_modules_do_not_import_each_other_in_a_circle():
    assert_without_cycles({name: {target for target, _ in imports(name)} for name in MODULES})


def test_packages_do_not_import_each_other_in_a_circle():
    graph = {}
    for name in MODULES:
        targets = {part(target) for target, _ in imports(name)}
        graph.setdefault(part(name), set()).update(targets - {part(name)})
    assert_without_cycles(graph)


def test_rooms_use_public_names_of_the_core_only():
    """Also inside functions: a late import is still an import."""
    wrong = []
    for name in MODULES:
        room = part(name).removeprefix("shootax.")
        if room not in ROOMS:
            continue
        for target, taken in imports(name, inside_functions=True):
            own = part(target) == part(name)
            private = any(word.startswith("_") for word in target.split("."))
            hidden = taken is not None and taken.startswith("_") and taken != "__version__"
            if not own and target not in FOUNDATIONS and (private or hidden):
                wrong.append(f"{name}: {target}{f'.{taken}' if taken else ''}")
    assert not wrong, "\n".join(["private names of other packages:", *wrong])


def test_core_does_not_import_rooms():
    wrong = [
        f"{name}: {target}"
        for name in MODULES
        if part(name).removeprefix("shootax.") not in ROOMS
        for target, _ in imports(name)
        if part(target).removeprefix("shootax.") in ROOMS
    ]
    assert not wrong


PUBLIC_PACKAGES = [
    name
    for name, path in MODULES.items()
    if path.name == "__init__.py" and not any(word.startswith("_") for word in name.split("."))
]


@pytest.mark.parametrize("package", PUBLIC_PACKAGES)
def test_no_name_of_a_package_hides_a_submodule(package):
    """Otherwise `import shootax.export as e` is a module or a function, whichever came last."""
    below = {name.rsplit(".", 1)[1] for name in MODULES if name.rpartition(".")[0] == package} - {
        "__main__"
    }
    bound = set()
    for node in TREES[package].body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.Assign):
            bound |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if f"{node.module}.{alias.name}" not in MODULES:
                    bound.add(alias.asname or alias.name)
    assert not below & bound


@pytest.mark.parametrize("room", ["nn", "kernels", "maximisers", "extend", *shootax._ROOMS])
def test_rooms_are_modules(room):
    assert isinstance(getattr(shootax, room), types.ModuleType)
    assert getattr(shootax, room) is importlib.import_module(f"shootax.{room}")


def test_top_level_is_small():
    # Rooms become attributes when another test imports them.
    later = {*shootax._ROOMS, "cli"}
    names = [name for name in dir(shootax) if not name.startswith("_") and name not in later]
    assert len(names) <= 90


def test_structure_of_a_field_is_asked_for_not_recognised():
    """Outside `_fields`, nothing depends on which class a field is."""
    wrong = []
    for name, tree in TREES.items():
        if part(name) == "shootax._fields":
            continue
        for node in ast.walk(tree):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if called and node.func.id == "isinstance" and "Field" in ast.unparse(node.args[1]):
                wrong.append(f"{name}:{node.lineno}: {ast.unparse(node)}")
    assert not wrong, "\n".join(["fields are recognised by their class in", *wrong])


def test_files_are_short():
    lengths = {name: len(path.read_text("utf-8").splitlines()) for name, path in MODULES.items()}
    assert {name: length for name, length in lengths.items() if length > 400} == {}
    assert not [name for name in MODULES if name.rsplit(".", 1)[-1].strip("_") in ("utils", "util")]


# Folders of one person's machine, and addresses that only one network knows.
LOCAL = re.compile(
    r"(?<![\w.~*])/(?:home|root|work|workspace|mnt|opt|Users)/\w"
    r"|\b(?:10|192\.168)(?:\.\d{1,3}){2,3}\b(?!\.\d)"
    r"|https?://[\w.-]+\.(?:internal|local|lan|corp)\b"
)


def test_nothing_written_belongs_to_one_machine():
    texts = ("*.py", "*.md", "*.json", "*.toml", "*.yml", "*.yaml", "*.cff")
    folders = [ROOT / name for name in ("src", "docs", "examples", "benchmarks", "tools")]
    files = [*itertools.chain.from_iterable(f.rglob(text) for f in folders for text in texts)]
    files += [file for text in texts for file in ROOT.glob(text)]
    assert len(files) > len(FILES)
    wrong = []
    for file in sorted({*files, ROOT / "Makefile"}):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), start=1):
            if found := LOCAL.search(line):
                wrong.append(f"{file.relative_to(ROOT)}:{number}: {found[0]}")
    assert not wrong, "\n".join(wrong)


def test_the_chains_of_files_on_the_design_page_exist():
    page = (ROOT / "docs" / "design.md").read_text("utf-8")
    table = page.split("## Which file does what")[1].split("## ")[0]
    chains = {
        call: re.findall(r"`([\w/]+\.py)`", files)
        for call, files in re.findall(r"^\| (`.*?) \| (.*) \|$", table, re.MULTILINE)
    }
    assert len(chains) == 6
    for files in chains.values():
        folder = SOURCE
        for name in files:
            path = SOURCE / name if (SOURCE / name).exists() else folder / name
            assert path.exists(), f"docs/design.md names {name}, which does not exist"
            folder = path.parent
    assert len(chains["`fit`"]) <= 6


def test_files_of_tests_have_names_of_their_own():
    """pytest imports them by their names alone."""
    names = sorted(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [a for a, b in itertools.pairwise(names) if a == b] == []


def test_the_cases_of_the_long_run_exist():
    for line in (ROOT / "tests" / "long_cases.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            path, name = line.split("[")[0].split("::")
            assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), line
