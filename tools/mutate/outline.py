"""The functions and classes of a file, and which of them a line belongs to."""

import ast
import bisect
import hashlib
import sys


def outline(source: bytes) -> list[tuple[int, int, str, str]]:
    """The first and last line of every function and class, its name, and a digest of a function's
    text."""
    lines, found = source.splitlines(), []

    def walk(node: ast.AST, names: tuple[str, ...]):
        for inner in ast.iter_child_nodes(node):
            if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                path = (*names, inner.name)
                first, last = inner.lineno, inner.end_lineno or inner.lineno
                text = hashlib.sha256(b"\n".join(lines[first - 1 : last])).hexdigest()[:8]
                is_class = isinstance(inner, ast.ClassDef)
                found.append((first, last, ".".join(path), "" if is_class else text))
                walk(inner, path)
            else:
                walk(inner, names)

    walk(ast.parse(source), ())
    return sorted(found)


def owner(functions: list[tuple[int, int, str, str]], line: int) -> tuple[int, str, str]:
    """The innermost function of a line: first line, name, digest."""
    at = bisect.bisect_right(functions, (line, sys.maxsize, "", ""))
    for first, last, name, digest in reversed(functions[:at]):
        if last >= line:
            return first, name, digest
    return 1, "", ""
