"""Pages of source code, for the files that a page links to as `source/NAME.py.md#definition`."""

import ast
import pathlib
import re

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File

DOCS = pathlib.Path(__file__).parents[1]
PACKAGE = DOCS.parent / "src" / "shootax"
LINK = re.compile(r"\]\((?:\.\./)*source/([\w/]+\.py)\.md")


def on_files(files, config):
    """Adds a page for each file that any page links to."""
    wanted: set[str] = set()
    for page in DOCS.rglob("*.md"):
        wanted |= set(LINK.findall(page.read_text()))
    for name in sorted(wanted):
        path = PACKAGE / name
        if not path.is_file():
            raise PluginError(f"A page links to the source of shootax/{name}, which is not there.")
        content = page_of(name, path.read_text())
        files.append(File.generated(config, f"source/{name}.md", content=content))
    return files


def page_of(name: str, source: str) -> str:
    """The code, with a heading for each class and function at the top level."""
    lines, parts, last = source.splitlines(), [], 0
    for node in ast.parse(source).body:
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        first = min([node.lineno, *(each.lineno for each in node.decorator_list)]) - 1
        parts.append(_fenced(lines[last:first], last))
        parts.append(f"## `{node.name}` {{ #{node.name} }}")
        assert node.end_lineno is not None
        parts.append(_fenced(lines[first : node.end_lineno], first))
        last = node.end_lineno
    parts.append(_fenced(lines[last:], last))
    head = f"---\nsearch:\n  exclude: true\n---\n\n# `shootax/{name}`\n\n"
    return head + "\n\n".join(part for part in parts if part) + "\n"


def _fenced(lines: list[str], before: int) -> str:
    while lines and not lines[0].strip():
        lines, before = lines[1:], before + 1
    text = "\n".join(lines).rstrip()
    return f'````py linenums="{before + 1}"\n{text}\n````' if text else ""
