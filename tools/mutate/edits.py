"""The small changes of meaning that can be made to a Python file."""

import ast
import dataclasses
import hashlib

# Arguments for appearance or wording, or that guard against programming errors.
COSMETIC = frozenset(
    """
    alpha bbox_to_anchor borderaxespad capsize cmap color colors constrained_layout dpi edgecolor
    encoding ensure_ascii facecolor figsize fontsize ha handles help hidden indent justify label
    labelpad layout legend linestyle linewidth loc lw marker markerscale markersize metavar ms
    ncols newline no_args_is_help no_wrap overflow pad rich_help_panel rotation s separators
    sort_keys squeeze stacklevel strict style title va width zorder
    """.split()  # noqa: SIM905
)
COMPARISONS = {
    ast.Lt: ("<", ("<=", ">")),
    ast.LtE: ("<=", ("<", ">")),
    ast.Gt: (">", (">=", "<")),
    ast.GtE: (">=", (">", "<")),
    ast.Eq: ("==", ("!=",)),
    ast.NotEq: ("!=", ("==",)),
    ast.Is: ("is", ("is not",)),
    ast.IsNot: ("is not", ("is",)),
    ast.In: ("in", ("not in",)),
    ast.NotIn: ("not in", ("in",)),
}
# Calls whose first two arguments may be swapped without effect, or have no meaning in the other order.
SYMMETRIC = frozenset(
    """
    add allclose array_equal gcd getattr hasattr isinstance logical_and logical_or max maximum min
    minimum multiply zip
    """.split()  # noqa: SIM905
)
LOGGING = ("debug", "info", "log", "print")


@dataclasses.dataclass(frozen=True)
class Edit:
    """One change: the bytes from `start` to `end` of a file are replaced."""

    file: str
    line: int
    function: str
    kind: str
    start: int
    end: int
    old: str
    new: str
    name: str

    def apply(self, source: bytes) -> bytes:
        return source[: self.start] + self.new.encode() + source[self.end :]


class _Finder(ast.NodeVisitor):
    def __init__(self, file: str, source: bytes):
        self.file, self.source = file, source
        lengths = [0, *(len(line) for line in source.splitlines(keepends=True))]
        self.starts = [sum(lengths[: i + 1]) for i in range(len(lengths))]
        self.functions: list[str] = []
        self.found: list[Edit] = []
        self.names: set[str] = set()

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        return start, self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text(self, node: ast.AST) -> str:
        start, end = self.span(node)
        return self.source[start:end].decode()

    def add(self, kind: str, node: ast.AST, span: tuple[int, int], new: str) -> None:
        start, end = span
        old, function = self.source[start:end].decode(), ".".join(self.functions)
        if old == new:
            return
        # The name stays the same when other parts of the file change.
        whole = (self.file, function, kind, self.text(node), old, new)
        digest = hashlib.sha256("\0".join(whole).encode()).hexdigest()[:12]
        times = sum(name.startswith(digest) for name in self.names)
        name = f"{digest}-{times}" if times else digest
        self.names.add(name)
        line = self.source.count(b"\n", 0, start) + 1
        self.found.append(Edit(self.file, line, function, kind, start, end, old, new, name))

    def between(self, kind: str, node: ast.AST, left: ast.AST, right: ast.AST, old: str, new: str):
        start, end = self.span(left)[1], self.span(right)[0]
        middle = self.source[start:end].decode()
        if middle.count(old) == 1:
            self.add(kind, node, (start, end), middle.replace(old, new))

    # Parts that do not affect the program, or are messages.

    def visit_Import(self, node): ...
    def visit_ImportFrom(self, node): ...
    def visit_JoinedStr(self, node): ...
    def visit_Raise(self, node): ...
    def visit_Assert(self, node): ...

    def visit_AnnAssign(self, node):
        if node.value:
            self.visit(node.value)

    def visit_ClassDef(self, node):
        self.scope(node)

    def visit_FunctionDef(self, node):
        for default in (*node.args.defaults, *(d for d in node.args.kw_defaults if d)):
            self.functions.append(node.name)
            self.visit(default)
            self.functions.pop()
        self.scope(node)

    def scope(self, node):
        self.functions.append(node.name)
        for statement in node.body:
            self.visit(statement)
        self.functions.pop()

    # Parts that affect the program.

    def visit_BinOp(self, node):
        parts, op = (self.text(node.left), self.text(node.right)), node.op
        if not any(
            isinstance(side, ast.JoinedStr) or '"' in self.text(side)
            for side in (node.left, node.right)
        ):
            if isinstance(op, ast.Add):
                self.between("sign", node, node.left, node.right, "+", "-")
            if isinstance(op, ast.Sub):
                self.between("sign", node, node.left, node.right, "-", "+")
            if isinstance(op, ast.Mult):
                for part in parts:
                    self.add("factor", node, self.span(node), f"({part})")
            if isinstance(op, ast.Div | ast.Pow) and "/" not in parts[1]:
                self.add("factor", node, self.span(node), f"({parts[0]})")
        self.generic_visit(node)

    def visit_AugAssign(self, node):
        if isinstance(node.op, ast.Add) and not isinstance(node.value, ast.List | ast.JoinedStr):
            self.between("sign", node, node.target, node.value, "+=", "-=")
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        if isinstance(node.op, ast.Not):
            self.add("condition", node, self.span(node), f"({self.text(node.operand)})")
        elif isinstance(node.op, ast.USub):
            self.add("sign", node, self.span(node), f"({self.text(node.operand)})")
            if isinstance(node.operand, ast.Constant):
                return
        self.generic_visit(node)

    def visit_Compare(self, node):
        if len(node.ops) == 1:
            old, news = COMPARISONS[type(node.ops[0])]
            for new in news:
                kind = "boundary" if {old, new} in ({"<", "<="}, {">", ">="}) else "comparison"
                self.between(kind, node, node.left, node.comparators[0], f" {old} ", f" {new} ")
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        self.between("condition", node, node.values[0], node.values[1], old, new)
        self.generic_visit(node)

    def visit_IfExp(self, node):
        swapped = (
            f"({self.text(node.orelse)} if {self.text(node.test)} else {self.text(node.body)})"
        )
        self.add("branch", node, self.span(node), swapped)
        self.generic_visit(node)

    def visit_If(self, node):
        if isinstance(node.body[-1], ast.Raise):
            self.add("check", node.test, self.span(node.test), "False")
        elif not self.text(node.test).endswith("TYPE_CHECKING"):
            self.add("branch", node.test, self.span(node.test), "False")
        self.generic_visit(node)

    def visit_Subscript(self, node):
        self.visit(node.value)
        for inner in ast.walk(node.slice):
            if isinstance(inner, ast.Constant) and type(inner.value) is int:
                self.add("index", inner, self.span(inner), str(inner.value + 1))

    def visit_Constant(self, node):
        new = None
        if isinstance(node.value, bool):
            new = str(not node.value)
        elif isinstance(node.value, int):
            new = str(node.value + 1)
        elif isinstance(node.value, float):
            new = repr(2 * node.value if node.value else 1.0)
        if new is not None:
            self.add("constant", node, self.span(node), new)

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        if isinstance(node.value, ast.Call):
            called = self.text(node.value.func)
            if called.rpartition(".")[2] in LOGGING:
                return
            kind = "check" if "checks." in called or "refuse" in called else "statement"
            self.add(kind, node, self.span(node), "pass")
        self.generic_visit(node)

    def visit_Call(self, node):
        arguments = [self.text(a) for a in (*node.args, *node.keywords)]
        open_, close = self.span(node.func)[1], self.span(node)[1]
        if self.source[open_ : open_ + 1] == b"(":
            if (
                len(node.args) > 1
                and not any(isinstance(a, ast.Starred) for a in node.args[:2])
                and self.text(node.func).rpartition(".")[2] not in SYMMETRIC
            ):
                swapped = [arguments[1], arguments[0], *arguments[2:]]
                self.add("arguments", node, (open_, close), f"({', '.join(swapped)})")
            for i, keyword in enumerate(node.keywords, len(node.args)):
                if keyword.arg and keyword.arg not in COSMETIC:
                    kept = [a for j, a in enumerate(arguments) if j != i]
                    self.add("option", keyword, (open_, close), f"({', '.join(kept)})")
        self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in COSMETIC:
                self.visit(keyword.value)


def edits(file: str, source: bytes) -> list[Edit]:
    """Every change that can be made to a file, in order."""
    finder = _Finder(file, source)
    finder.visit(ast.parse(source))
    return sorted(finder.found, key=lambda edit: (edit.start, edit.end, edit.new))
